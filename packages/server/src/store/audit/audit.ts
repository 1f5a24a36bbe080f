/**
 * The audit trail: the changes that the ledger has, and how it is read. The view `audit` makes records of the ledger's entries: two or
 * three of a decision, one of any other change. Decision 0030 has the format.
 */
import { createHash } from "node:crypto";
import type { AuditRecord, AuditType, OrgAuditRecord } from "@countersign/contract";
import { canonicalJson, changeHash, settingsChangeTypes, sha256Hex } from "@countersign/core";
import type { Ids, Query } from "../../ports.ts";
import { type BoundedPage, readBounded } from "../rows/bounded-page.ts";
import { clock_slack_ms, idTime_ms } from "../rows/first-id-at.ts";
import { newestHead } from "../rows/newest-head.ts";

/** A change that is no decision, ready to be appended. Its place is given at commit, under the organization's lock. */
export interface AuditRow {
  readonly audit_id: string;
  /** null: not about one intent. */
  readonly intent_id: string | null;
  readonly type: string;
  readonly actor: string;
  /** RFC 3339 UTC with six fractional digits and `Z`. */
  readonly at: string;
  /** Canonical JSON text. */
  readonly data: string;
  /** 32 lower-case hex digits. */
  readonly salt: string;
  /** 64 lower-case hex digits: the hash of the entry. */
  readonly hash: string;
}

/** What happened, before it has an identity. */
export interface AuditEntry {
  readonly intent_id: string | null;
  readonly type: AuditType;
  /** key_id or user_id; `system`, `open_mode` and the like for those who have none. */
  readonly actor: string;
  /** RFC 3339 UTC with six fractional digits and `Z`. */
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The root of a chain without rows. */
export const genesisRoot: string = "0".repeat(64);

/** The types of rows that changed what decisions are made by, as SQL; there is an index for them. */
export const settingsTypes: string = settingsChangeTypes.map((type) => `'${type}'`).join(", ");

/** Makes the row. Throws TypeError when `data` holds what JSON cannot. */
export function auditRow(ids: Ids, entry: AuditEntry): AuditRow {
  const { intent_id, type, actor, at } = entry;
  const change = { audit_id: ids.next("audit"), intent_id, type, actor, at };
  const [data, salt] = [canonicalJson(entry.data), ids.salt()];
  return { ...change, data, salt, hash: changeHash(change, data, salt) };
}

/**
 * What an audit row says of texts that are stored elsewhere: SHA-256 over the texts with U+001E between them, which no JSON text can
 * hold.
 */
export function recordHash(texts: readonly string[]): string {
  return sha256Hex(texts.join("\u001e"));
}

/** The root after a commit: SHA-256 over the root before it and the hashes of its entries in order. All in hex. */
export function nextRoot(root: string, hashes: readonly string[]): string {
  const chain = createHash("sha256").update(root, "hex");
  for (const hash of hashes) chain.update(hash, "hex");
  return chain.digest("hex");
}

/** An audit row as it is read: the record of the contract, but for the actor, who is still the text that was stored. */
export type StoredAudit<Row extends AuditRecord | OrgAuditRecord = AuditRecord> = Omit<Row, "actor"> & {
  readonly actor: string;
};

const audit_columns = "audit_id, seq, type, actor, at, data, intent_id, encode(hash, 'hex') as hash";

const trail_columns = `${audit_columns}, encode(root, 'hex') as root, entry, leaf, encode(salt, 'hex') as salt`;

/** One page of an intent's audit records, in order, after the record `after_seq` (0: from the first). */
export function readAuditPage(
  query: Query,
  org_id: string,
  intent_id: string,
  after_seq: number,
  limit: number,
): Promise<BoundedPage<StoredAudit>> {
  return readBounded<StoredAudit>(
    query,
    {
      columns: audit_columns,
      bytes: "octet_length(data::text)",
      // Each half has an index of its own.
      from: `from (select * from audit where org_id = $1 and intent_id = $2 and entry_type = 'decided'
        union all select * from audit where org_id = $1 and intent_id = $2 and entry_type <> 'decided' and entry_seq > $3::bigint) trail
        where seq > $3::bigint`,
      order: "seq",
      limit: "$4::integer",
    },
    [org_id, intent_id, after_seq, limit],
  );
}

/** Which rows of an organization's trail a list shows. `actor` is the text that was stored; `from` is included, `to` is not; RFC 3339. */
export interface AuditFilter {
  readonly type?: AuditType | undefined;
  readonly actor?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** As the index of the rest says it: nearly all rows are the service's own and those of keys. */
const of_the_rest = "entry_actor <> 'system' and entry_actor not like 'key\\_%'";
const isOfTheRest = (actor: string): boolean => actor !== "system" && !actor.startsWith("key_");

/**
 * Where in the trail of `$1` the moment of a parameter lies, as SQL, with slack on the given side: all rows before it (-1) or from
 * it on (1) are on that side of the moment. Rows have their time from the node that wrote them and their place from the lock
 * at commit, so they stand in the order of their times, but for how long commits take and how far nodes' clocks are apart. So
 * halving the trail some thirty times finds the place; an index by time would cost each decision more than this costs a list.
 * `offset 0` keeps the division out of the comparison: row-level security has no index asked what is not leakproof.
 */
function seqNear(time: string, side: -1 | 1): string {
  return `(with recursive halving (low, high) as (
      select 1::bigint, ${newestHead("$1", "audit_seq")} + 1
      union all
      select case when later then low else middle + 1 end, case when later then middle else high end
      from (select low, high, (low + high) / 2 as middle from halving where low < high offset 0) h
      cross join lateral (select at >= ${time} + interval '${side * clock_slack_ms} milliseconds' as later
        from ledger where org_id = $1 and seq >= middle order by seq limit 1) a
    ) select low from halving where low = high)`;
}

/**
 * When the key `$3` was made, by its id (`$8`, milliseconds), and when it ended, as SQL; null, and all of the trail lies before
 * it: there is none such. Its rows stand between the two: to find those of a new key, or of a former one, the whole trail was read.
 */
const key_made = "to_timestamp($8::float8 / 1000)";
const key_ended = "(select least(revoked_at, expires_at) from api_keys where org_id = $1 and key_id = $3)";

/** Records of decisions, by the column that tells whether an entry has one; null: every decision has one. */
const ofDecisions = {
  submitted: null,
  decided: null,
  escalated: "escalation_id",
  joined: "escalation_id",
  resumed: "escalation_id",
  override_spent: "override_id",
} as const satisfies Partial<Record<AuditType, string | null>>;

/** Types of records that the service itself never makes, and those that nobody else does. */
const neverByService: readonly AuditType[] = ["submitted", "observed"];
const alwaysByService: readonly AuditType[] = [
  "decided",
  "escalated",
  "joined",
  "resumed",
  "override_spent",
  "delivered",
];

/** Whether there is no such record: to find out, a whole trail was read, of 1.9 million records for longer than a statement may take. */
function isNever({ type, actor }: AuditFilter): boolean {
  if (type === undefined || actor === undefined) return false;
  return (actor === "system" ? neverByService : alwaysByService).includes(type);
}

/** Which entries have records of a filter, as SQL that indexes serve. `$2` is the type, `$3` the actor. */
function entriesWith({ type, actor }: AuditFilter): string[] {
  const conditions: string[] = [];
  if (type !== undefined) {
    const column = Object.hasOwn(ofDecisions, type) ? ofDecisions[type as keyof typeof ofDecisions] : undefined;
    if (column === undefined) conditions.push("entry_type = $2");
    else conditions.push("entry_type = 'decided'", ...(column === null ? [] : [`${column} is not null`]));
  }
  if (actor !== undefined && actor !== "system") {
    conditions.push("entry_actor = $3");
    if (isOfTheRest(actor)) conditions.push(of_the_rest);
  }
  return conditions;
}

/** No entry stands for more records than this. */
const records_max = 4;

/** One page of an organization's trail, newest first, before the record `before_seq` (null: from the newest). */
export async function readTrailPage(
  query: Query,
  org_id: string,
  filter: AuditFilter,
  before_seq: number | null,
  limit: number,
): Promise<BoundedPage<StoredAudit<OrgAuditRecord>>> {
  if (isNever(filter)) return { rows: [], more: false };
  const { actor } = filter;
  const made_ms = actor?.startsWith("key_") ? idTime_ms(actor) : null;
  const conditions = [
    "org_id = $1",
    "($2::text is null or type = $2)",
    "($3::text is null or actor = $3)",
    `($4::bigint is null or (seq < $4 and entry_seq < $4 + ${records_max}))`,
    `($5::timestamptz is null or (at >= $5 and entry_seq >= ${seqNear("$5::timestamptz", -1)}))`,
    `($6::timestamptz is null or (at < $6 and entry_seq < ${seqNear("$6::timestamptz", 1)}))`,
    `($8::float8 is null or (entry_seq >= ${seqNear(key_made, -1)} and entry_seq < ${seqNear(key_ended, 1)}))`,
    ...entriesWith(filter),
  ];
  const { rows, more } = await readBounded<StoredAudit<OrgAuditRecord> & { entry_seq: number }>(
    query,
    {
      columns: `${trail_columns}, entry_seq`,
      bytes: "octet_length(data::text)",
      from: `from audit where ${conditions.join(" and ")}`,
      order: "entry_seq desc, seq desc",
      limit: "$7::integer",
    },
    [
      ...[org_id, filter.type ?? null, actor ?? null, before_seq, filter.from ?? null, filter.to ?? null, limit],
      made_ms,
    ],
  );
  return { rows: rows.map(({ entry_seq: _, ...record }) => record), more };
}
