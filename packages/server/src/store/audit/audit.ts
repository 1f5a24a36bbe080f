/**
 * Writes and reads the audit trail. The view `audit` computes records from the ledger's entries: two or
 * three for a decision, one for any other change. Decision 0030 has the format.
 */
import { createHash } from "node:crypto";
import type { AuditRecord, AuditType, OrgAuditRecord } from "@countersign/contract";
import { canonicalJson, changeHash, settingsChangeTypes, sha256Hex } from "@countersign/core";
import type { Ids, Query } from "../../ports.ts";
import { type BoundedPage, readBounded } from "../rows/bounded-page.ts";
import { clock_slack_ms, idTime_ms } from "../rows/first-id-at.ts";
import { newestHead } from "../rows/newest-head.ts";

/** A change other than a decision, ready to be appended. The commit numbers it under the organization's lock. */
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

/** A change without an id. */
export interface AuditEntry {
  readonly intent_id: string | null;
  readonly type: AuditType;
  /** key_id or user_id; `system`, `open_mode` and the like for other actors. */
  readonly actor: string;
  /** RFC 3339 UTC with six fractional digits and `Z`. */
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The root of a chain without rows. */
export const genesisRoot: string = "0".repeat(64);

/** The types of rows that change the inputs of decisions, as SQL. They have an index. */
export const settingsTypes: string = settingsChangeTypes.map((type) => `'${type}'`).join(", ");

/** Returns the row. Throws TypeError if `data` has a value that JSON does not support. */
export function auditRow(ids: Ids, entry: AuditEntry): AuditRow {
  const { intent_id, type, actor, at } = entry;
  const change = { audit_id: ids.next("audit"), intent_id, type, actor, at };
  const [data, salt] = [canonicalJson(entry.data), ids.salt()];
  return { ...change, data, salt, hash: changeHash(change, data, salt) };
}

/**
 * Returns the hash in an audit row of texts that are stored elsewhere: SHA-256 over the texts with U+001E between them, which no JSON
 * text can contain.
 */
export function recordHash(texts: readonly string[]): string {
  return sha256Hex(texts.join("\u001e"));
}

/** Returns the root after a commit: SHA-256 over the previous root and the hashes of its entries in order. All in hex. */
export function nextRoot(root: string, hashes: readonly string[]): string {
  const chain = createHash("sha256").update(root, "hex");
  for (const hash of hashes) chain.update(hash, "hex");
  return chain.digest("hex");
}

/** A stored audit row: the contract's record, with the actor as the stored text. */
export type StoredAudit<Row extends AuditRecord | OrgAuditRecord = AuditRecord> = Omit<Row, "actor"> & {
  readonly actor: string;
};

const audit_columns = "audit_id, seq, type, actor, at, data, intent_id, encode(hash, 'hex') as hash";

const trail_columns = `${audit_columns}, encode(root, 'hex') as root, entry, leaf, encode(salt, 'hex') as salt`;

/** Returns a page of an intent's audit records, in order, after the record `after_seq` (0: from the first). */
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

/** A filter of an organization's trail. `actor` is the stored text. `from` is included, `to` is not; RFC 3339. */
export interface AuditFilter {
  readonly type?: AuditType | undefined;
  readonly actor?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The condition of the index for other actors. Nearly all rows are by the service or by keys. */
const of_the_rest = "entry_actor <> 'system' and entry_actor not like 'key\\_%'";
const isOfTheRest = (actor: string): boolean => actor !== "system" && !actor.startsWith("key_");

/**
 * Returns SQL for the seq in the trail of `$1` at the time of a parameter, with slack on the given side: all rows before (-1) or from
 * that seq on (1) are on that side of the time. Rows get their time from the node that wrote them and their seq from the lock
 * at commit. So rows are in the order of their times, except for the duration of commits and differences of clocks. So
 * halving the trail about thirty times finds the seq. An index by time would cost each decision more than this costs a list.
 * `offset 0` keeps the division out of the comparison, because with row-level security an index accepts only leakproof functions.
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
 * SQL for the creation time of the key `$3`, by its id (`$8`, milliseconds), and for its end. Null, and later than the trail:
 * no such key. The rows of a key are between the two times. Without this, a list for a new or ended key read the whole trail.
 */
const key_made = "to_timestamp($8::float8 / 1000)";
const key_ended = "(select least(revoked_at, expires_at) from api_keys where org_id = $1 and key_id = $3)";

/** Records of decisions, with the column that is set if an entry has one. Null: every decision has one. */
const ofDecisions = {
  submitted: null,
  decided: null,
  escalated: "escalation_id",
  joined: "escalation_id",
  resumed: "escalation_id",
  override_spent: "override_id",
} as const satisfies Partial<Record<AuditType, string | null>>;

/** Record types that the service itself never writes, and types that only the service writes. */
const neverByService: readonly AuditType[] = ["submitted", "observed"];
const alwaysByService: readonly AuditType[] = [
  "decided",
  "escalated",
  "joined",
  "resumed",
  "override_spent",
  "delivered",
];

/** Returns whether no record can match. Reading a trail of 1.9 million records to find this out exceeded the statement timeout. */
function isNever({ type, actor }: AuditFilter): boolean {
  if (type === undefined || actor === undefined) return false;
  return (actor === "system" ? neverByService : alwaysByService).includes(type);
}

/** Returns SQL conditions for the entries with records of a filter, which indexes support. `$2` is the type, `$3` the actor. */
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

/** An entry has at most this many records. */
const records_max = 4;

/** Returns a page of an organization's trail, newest first, before the record `before_seq` (null: from the newest). */
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
