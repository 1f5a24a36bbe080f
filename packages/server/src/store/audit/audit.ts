/**
 * The audit trail. The view `audit` computes two or three records from a decision, and one from any other change
 * (decision 0030).
 */
import { createHash } from "node:crypto";
import type { AuditRecord, AuditType, Erased, OrgAuditRecord } from "@countersign/contract";
import { canonicalJson, changeHash, settingsChangeTypes, sha256Hex } from "@countersign/core";
import type { Ids, Query } from "../../ports.ts";
import { type BoundedPage, readBounded } from "../rows/bounded-page.ts";
import { clock_slack_ms, idTime_ms } from "../rows/first-id-at.ts";
import { newestHead } from "../rows/newest-head.ts";

/** A change other than a decision, before the commit numbers it. */
export interface AuditRow {
  readonly audit_id: string;
  /** Null: not about one intent. */
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

export interface AuditEntry {
  readonly intent_id: string | null;
  readonly type: AuditType;
  /** key_id, user_id, or a word such as `system` or `open_mode`. */
  readonly actor: string;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export const genesisRoot: string = "0".repeat(64);

/** SQL: types of records that change the inputs of decisions. They have an index. */
export const settingsTypes: string = settingsChangeTypes.map((type) => `'${type}'`).join(", ");

/** Throws TypeError if `data` has a value that JSON does not support. */
export function auditRow(ids: Ids, entry: AuditEntry): AuditRow {
  const { intent_id, type, actor, at } = entry;
  const change = { audit_id: ids.next("audit"), intent_id, type, actor, at };
  const [data, salt] = [canonicalJson(entry.data), ids.salt()];
  return { ...change, data, salt, hash: changeHash(change, data, salt) };
}

/** Hashes texts that are stored elsewhere, joined by U+001E, which JSON texts cannot contain. */
export function recordHash(texts: readonly string[]): string {
  return sha256Hex(texts.join("\u001e"));
}

/** Returns the next root: SHA-256 over the previous root and the hashes of the new entries, in hex. */
export function nextRoot(root: string, hashes: readonly string[]): string {
  const chain = createHash("sha256").update(root, "hex");
  for (const hash of hashes) chain.update(hash, "hex");
  return chain.digest("hex");
}

/** The actor is the stored text. */
export type StoredAudit<Row extends AuditRecord | OrgAuditRecord = AuditRecord> = Omit<Row, "actor"> & {
  readonly actor: string;
};

const audit_columns = "audit_id, seq, type, actor, at, data, intent_id, encode(hash, 'hex') as hash, erased";

export const trail_columns = `${audit_columns}, encode(root, 'hex') as root, entry, leaf, encode(salt, 'hex') as salt`;

export async function readAuditPage(
  query: Query,
  org_id: string,
  intent_id: string,
  after_seq: number,
  limit: number,
): Promise<BoundedPage<StoredAudit>> {
  const { rows, more } = await readBounded<StoredAudit & MaybeErased>(
    query,
    {
      columns: audit_columns,
      bytes: "octet_length(data::text)",
      from: `from (select * from audit where org_id = $1 and intent_id = $2 and entry_type = 'decided'
        union all select * from audit where org_id = $1 and intent_id = $2 and entry_type <> 'decided' and entry_seq > $3::bigint) trail
        where seq > $3::bigint`,
      order: "seq",
      limit: "$4::integer",
    },
    [org_id, intent_id, after_seq, limit],
  );
  return { rows: rows.map(withoutNull), more };
}

export interface MaybeErased {
  readonly erased: Erased | null;
}

/** An entry with its data has no member `erased`. */
export function withoutNull<Row extends MaybeErased>({
  erased,
  ...record
}: Row): Omit<Row, "erased"> & { readonly erased?: Erased } {
  return erased === null ? record : { ...record, erased };
}

/** `actor` is the stored text. `from` is inclusive, `to` exclusive; RFC 3339. */
export interface AuditFilter {
  readonly type?: AuditType | undefined;
  readonly actor?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The condition of the index for other actors. Nearly all records are by the service or by keys. */
export const ofTheRest = (column: string): string => `${column} <> 'system' and ${column} not like 'key\\_%'`;
export const isOfTheRest = (actor: string): boolean => actor !== "system" && !actor.startsWith("key_");

/**
 * Returns SQL for the seq at a time, moved by the clock slack to the given side. Records are ordered by time, except
 * for commit durations and clock differences, so about thirty halvings find it. An index by time would slow down every
 * decision. `offset 0`: with row-level security an index accepts only leakproof functions, so the division must stay
 * out of the comparison.
 */
export function seqNear(time: string, side: -1 | 1): string {
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
 * SQL: the creation (`$8`, milliseconds) and the end of the key `$3`. Without these bounds, a list for a key read the
 * whole trail.
 */
const key_made = "to_timestamp($8::float8 / 1000)";
const key_ended = "(select least(revoked_at, expires_at) from api_keys where org_id = $1 and key_id = $3)";

/** Records of decisions, and the column that must be set. Null: every decision has the record. */
const ofDecisions = {
  submitted: null,
  decided: null,
  escalated: "escalation_id",
  joined: "escalation_id",
  resumed: "escalation_id",
  override_spent: "override_id",
} as const satisfies Partial<Record<AuditType, string | null>>;

/** Record types that the service never writes, and types that only the service writes. */
const neverByService: readonly AuditType[] = ["submitted", "observed"];
const alwaysByService: readonly AuditType[] = [
  "decided",
  "escalated",
  "joined",
  "resumed",
  "override_spent",
  "delivered",
];

/** Returns true if no record can match. A search of 1.9 million records timed out. */
function isNever({ type, actor }: AuditFilter): boolean {
  if (type === undefined || actor === undefined) return false;
  return (actor === "system" ? neverByService : alwaysByService).includes(type);
}

/** Returns SQL conditions that indexes support. `type_column` has the entry's type. */
export function entriesOfType(
  type: AuditType | undefined,
  type_column: string,
  param: (type: AuditType, sql_type: string) => string,
): string[] {
  if (type === undefined) return [];
  const column = Object.hasOwn(ofDecisions, type) ? ofDecisions[type as keyof typeof ofDecisions] : undefined;
  if (column === undefined) return [`${type_column} = ${param(type, "text")}`];
  return [`${type_column} = 'decided'`, ...(column === null ? [] : [`${column} is not null`])];
}

/** Returns SQL conditions that indexes support. `$2` is the type, `$3` the actor. */
function entriesWith({ type, actor }: AuditFilter): string[] {
  const conditions = entriesOfType(type, "entry_type", () => "$2");
  if (actor !== undefined && actor !== "system") {
    conditions.push("entry_actor = $3");
    if (isOfTheRest(actor)) conditions.push(ofTheRest("entry_actor"));
  }
  return conditions;
}

const records_max = 4;

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
  const { rows, more } = await readBounded<StoredAudit<OrgAuditRecord> & MaybeErased & { entry_seq: number }>(
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
  return { rows: rows.map(({ entry_seq: _, ...record }) => withoutNull(record)), more };
}
