/** Audit rows: what they say, the hash that fixes each, and the chain that fixes their order. Source: architecture.md §6. */
import { createHash, hash } from "node:crypto";
import type { AuditRecord, AuditType, OrgAuditRecord } from "@countersign/contract";
import { canonicalJson, settingsChangeTypes } from "@countersign/core";
import type { Ids, Query } from "../../ports.ts";
import { type BoundedPage, readBounded } from "../rows/bounded-page.ts";
import { clock_slack_ms, idTime_ms } from "../rows/first-id-at.ts";
import { newestHead } from "../rows/newest-head.ts";

/** One state change, ready to be appended. The sequence number is given at commit, under the organization's lock. */
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
  /** 64 lower-case hex digits: SHA-256 over the canonical JSON of {actor, at, audit_id, data, intent_id, type}. */
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

/** Makes the row. Throws TypeError when `data` holds what JSON cannot. Costs 4 µs, 2 of them SHA-256. */
export function auditRow(ids: Ids, entry: AuditEntry): AuditRow {
  const { intent_id, type, actor, at } = entry;
  const row = { audit_id: ids.next("audit"), intent_id, type, actor, at, data: canonicalJson(entry.data), hash: "" };
  row.hash = auditHash(row); // written into it: a spread copy of every row cost as much as its hash
  return row;
}

/** The hash of a row. `data` is its canonical JSON text; the members are written in canonical order. */
export function auditHash(row: Omit<AuditRow, "hash">): string {
  const { actor, at, audit_id, intent_id, type } = row;
  const text = `{"actor":${canonicalJson(actor)},"at":"${at}","audit_id":"${audit_id}","data":${row.data},"intent_id":${
    intent_id === null ? "null" : `"${intent_id}"`
  },"type":"${type}"}`;
  return hash("sha256", text);
}

/**
 * What an audit row says of the texts that it stands for, so that the chain covers them, too: SHA-256 over the texts with
 * U+001E between them, which no JSON text can hold. They are stored as `json`, which keeps them byte for byte; canonical
 * JSON would be too slow here. 3 µs for 2.7 KB.
 */
export function recordHash(texts: readonly string[]): string {
  return hash("sha256", texts.join("\u001e"));
}

/** The root after a commit: SHA-256 over the root before it and the hashes of its rows in order. All in hex. */
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

/** The same, and the chain's root where a commit ended with the row. */
const trail_columns = `${audit_columns}, (select encode(root, 'hex') from audit_heads h
  where h.org_id = audit.org_id and h.last_seq = audit.seq) as root`;

/** One page of an intent's audit rows, in order, after the row `after_seq` (0: from the first). */
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
      from: "from audit where org_id = $1 and intent_id = $2 and seq > $3::bigint",
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

/** As the index of the rest says it: nearly all rows are the service's own and those of keys. Source: migration 0021. */
const of_the_rest = "actor <> 'system' and actor not like 'key\\_%'";
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
        from audit where org_id = $1 and seq = middle offset 0) a
    ) select low from halving where low = high)`;
}

/**
 * When the key `$3` was made, by its id (`$8`, milliseconds), and when it ended, as SQL; null, and all of the trail lies before
 * it: there is none such. Its rows stand between the two: to find those of a new key, or of a former one, the whole trail was read.
 */
const key_made = "to_timestamp($8::float8 / 1000)";
const key_ended = "(select least(revoked_at, expires_at) from api_keys where org_id = $1 and key_id = $3)";

/** Of the types that come with every action: what the service itself always does, and what it never does. */
const alwaysByService: readonly AuditType[] = ["decided", "delivered"];
const neverByService: readonly AuditType[] = ["submitted", "observed"];

/** Whether there is no such row: to find out, a whole trail was read, of 1.9 million rows for longer than a statement may take. */
function isNever({ type, actor }: AuditFilter): boolean {
  if (type === undefined || actor === undefined) return false;
  return (actor === "system" ? neverByService : alwaysByService).includes(type);
}

/** One page of an organization's trail, newest first, before the row `before_seq` (null: from the newest). */
export function readTrailPage(
  query: Query,
  org_id: string,
  filter: AuditFilter,
  before_seq: number | null,
  limit: number,
): Promise<BoundedPage<StoredAudit<OrgAuditRecord>>> {
  if (isNever(filter)) return Promise.resolve({ rows: [], more: false });
  const { actor } = filter;
  const rest = actor !== undefined && isOfTheRest(actor) ? ` and ${of_the_rest}` : "";
  const made_ms = actor?.startsWith("key_") ? idTime_ms(actor) : null;
  return readBounded<StoredAudit<OrgAuditRecord>>(
    query,
    {
      columns: trail_columns,
      bytes: "octet_length(data::text)",
      from: `from audit where org_id = $1 and ($2::text is null or type = $2) and ($3::text is null or actor = $3)
        and ($4::bigint is null or seq < $4)
        and ($5::timestamptz is null or (at >= $5 and seq >= ${seqNear("$5::timestamptz", -1)}))
        and ($6::timestamptz is null or (at < $6 and seq < ${seqNear("$6::timestamptz", 1)}))
        and ($8::float8 is null or (seq >= ${seqNear(key_made, -1)} and seq < ${seqNear(key_ended, 1)}))${rest}`,
      order: "seq desc",
      limit: "$7::integer",
    },
    [
      ...[org_id, filter.type ?? null, actor ?? null, before_seq, filter.from ?? null, filter.to ?? null, limit],
      made_ms,
    ],
  );
}

/**
 * What a check of the whole trail found. `seq` is the first row that is wrong, missing, or not covered by its root;
 * `intent_missing`: the row tells of a decision that is no longer stored. `root_unknown`: the root that was expected is
 * none of this trail's; `seq` is then where it stands beside the trail, or the last row.
 */
export type AuditFinding =
  | { readonly sound: true; readonly rows: number; readonly root: string }
  | {
      readonly sound: false;
      readonly seq: number;
      readonly problem: "gap" | "row_changed" | "chain_broken" | "rows_missing" | "intent_missing" | "root_unknown";
    };

/** How a trail is checked. */
export interface AuditCheck {
  /** A root of this trail that was noted before, in hex: it must still be one, or the trail was written anew or cut. */
  readonly expect_root?: string | undefined;
  /** Hears after each page how many rows were checked, of how many. */
  readonly told?: (rows: number, of: number) => void;
}

const page_rows = 2_000;

/**
 * Recomputes every hash, the sequence and the chain of one organization, and looks for the intent of every decision. Run
 * it in one transaction; it locks nothing. What the rows say of the intents is for `verifyRecords`.
 */
export async function verifyAudit(
  query: Query,
  org_id: string,
  { expect_root = genesisRoot, told }: AuditCheck = {},
): Promise<AuditFinding> {
  const [head] = await query<{ audit_seq: number; root: string }>(
    newestHead("$1", "audit_seq, encode(audit_root, 'hex') as root"),
    [org_id],
  );
  if (head === undefined) throw new Error(`organization ${org_id} has no head row`);
  let root = genesisRoot;
  let seq = 0;
  let hashes: string[] = [];
  let met = expect_root === genesisRoot;
  while (seq < head.audit_seq) {
    const rows = await query<AuditRow & { seq: number; root: string | null; intent_missing: boolean }>(
      `select a.seq, a.audit_id, a.intent_id, a.type, a.actor, a.at, a.data::text as data, encode(a.hash, 'hex') as hash,
         encode(h.root, 'hex') as root, a.type = 'decided' and (select true from intents i
           where i.org_id = a.org_id and i.intent_id = a.intent_id limit 1) is null as intent_missing
       from audit a left join audit_heads h on h.org_id = a.org_id and h.last_seq = a.seq
       where a.org_id = $1 and a.seq > $2::bigint and a.seq <= $3::bigint order by a.seq limit ${page_rows}`,
      [org_id, seq, head.audit_seq],
    );
    if (rows.length === 0) return { sound: false, seq: seq + 1, problem: "rows_missing" };
    for (const row of rows) {
      if (row.seq !== seq + 1) return { sound: false, seq: seq + 1, problem: "gap" };
      seq = row.seq;
      if (auditHash(row) !== row.hash) return { sound: false, seq, problem: "row_changed" };
      if (row.intent_missing) return { sound: false, seq, problem: "intent_missing" };
      hashes.push(row.hash);
      if (row.root === null) continue;
      root = nextRoot(root, hashes);
      hashes = [];
      if (root !== row.root) return { sound: false, seq, problem: "chain_broken" };
      met ||= root === expect_root;
    }
    told?.(seq, head.audit_seq);
  }
  if (root !== head.root) return { sound: false, seq, problem: "chain_broken" };
  if (!met) {
    const [beside] = await query<{ last_seq: number }>(
      "select last_seq from audit_heads where org_id = $1 and root = decode($2, 'hex')",
      [org_id, expect_root],
    );
    return { sound: false, seq: beside?.last_seq ?? seq, problem: "root_unknown" };
  }
  return { sound: true, rows: seq, root };
}
