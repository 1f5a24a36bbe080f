import type { Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";
import { genesisRoot, nextRoot } from "./audit.ts";

/**
 * `rows`: audit records. `intents`: decisions. `seq`: the first record that is wrong, missing or not covered by its
 * root. `erased`: entries without their documents, which the trail names. `erased_in_secret`: no entry of the trail names the
 * erasure. `root_unknown`: the trail lacks the expected root; `seq` is then the last record.
 */
export type AuditFinding =
  | {
      readonly sound: true;
      readonly rows: number;
      readonly intents: number;
      readonly erased: number;
      readonly root: string;
    }
  | {
      readonly sound: false;
      readonly seq: number;
      readonly problem: "gap" | "entry_changed" | "chain_broken" | "rows_missing" | "root_unknown" | "erased_in_secret";
    };

export interface AuditCheck {
  /** An earlier root in hex. If the trail lacks it, the trail was rewritten or cut. */
  readonly expect_root?: string | undefined;
  /** Called after each page: `rows` of `of` records are checked. */
  readonly told?: (rows: number, of: number) => void;
}

const page_rows = 1_000;

interface Entry {
  readonly seq: number;
  readonly entry: number;
  readonly decided: boolean;
  readonly records: number;
  readonly changed: boolean;
  readonly hash: string;
  readonly root: string | null;
  /** The intent, or the seq of an entry without one. Null: the entry has its documents. */
  readonly erased: string | null;
  /** Intents and entries that an entry of the type `content_erased` names. Null: another type. */
  readonly names: { readonly intents: readonly string[]; readonly entries: readonly number[] } | null;
}

const statement = `select l.seq, l.entry, l.type = 'decided' as decided,
    case when l.type = 'decided' then 2 + num_nonnulls(l.escalation_id, l.override_id) else 1 end as records,
    ledger_hash(ledger_leaf(l)) is distinct from l.hash
      or l.leaf is not null and num_nonnulls(l.intent, l.facts, l.data) > 0 as changed, encode(l.hash, 'hex') as hash, encode(l.root, 'hex') as root,
    case when l.leaf is not null then coalesce(l.intent_id, l.seq::text) end as erased,
    case when l.type = 'content_erased' then l.data end as names
  from ledger l where l.org_id = $1 and l.seq > $2::bigint and l.seq <= $3::bigint order by l.seq limit ${page_rows}`;

/** Must run in one transaction. Locks nothing. `verifyReviews` checks closed reviews. */
export async function verifyAudit(
  query: Query,
  org_id: string,
  { expect_root = genesisRoot, told }: AuditCheck = {},
): Promise<AuditFinding> {
  const [head] = await query<{ audit_seq: number; entries: number; root: string }>(
    newestHead("$1", "audit_seq, entries, encode(audit_root, 'hex') as root"),
    [org_id],
  );
  if (head === undefined) throw new Error(`organization ${org_id} has no head row`);
  const chain = new Chain(expect_root);
  while (chain.seq < head.audit_seq) {
    const rows = await query<Entry>(statement, [org_id, chain.seq, head.audit_seq]);
    if (rows.length === 0) return { sound: false, seq: chain.seq + 1, problem: "rows_missing" };
    for (const row of rows) {
      const problem = chain.add(row);
      if (problem !== null) return { sound: false, ...problem };
    }
    told?.(chain.seq, head.audit_seq);
  }
  const { seq, root, entries, intents } = chain;
  if (root !== head.root || entries !== head.entries) return { sound: false, seq, problem: "chain_broken" };
  if (!chain.met) return { sound: false, seq, problem: "root_unknown" };
  const secret = chain.erasedInSecret();
  if (secret !== null) return { sound: false, seq: secret, problem: "erased_in_secret" };
  return { sound: true, rows: seq, intents, erased: chain.erased, root };
}

class Chain {
  seq = 0;
  root = genesisRoot;
  entries = 0;
  intents = 0;
  erased = 0;
  met: boolean;
  readonly #expect_root: string;
  #hashes: string[] = [];
  /** Erased intents and entries, with their seq. */
  readonly #erased = new Map<string, number>();
  readonly #named = new Set<string>();

  constructor(expect_root: string) {
    this.#expect_root = expect_root;
    this.met = expect_root === genesisRoot;
  }

  add(row: Entry): { readonly seq: number; readonly problem: "gap" | "entry_changed" | "chain_broken" } | null {
    const { seq } = row;
    if (seq !== this.seq + row.records || row.entry !== this.entries) return { seq: this.seq + 1, problem: "gap" };
    if (row.changed) return { seq, problem: "entry_changed" };
    this.seq = seq;
    this.entries += 1;
    if (row.decided) this.intents += 1;
    if (row.erased !== null) {
      this.erased += 1;
      this.#erased.set(row.erased, seq);
    }
    for (const name of [...(row.names?.intents ?? []), ...(row.names?.entries ?? [])]) this.#named.add(String(name));
    this.#hashes.push(row.hash);
    if (row.root === null) return null;
    this.root = nextRoot(this.root, this.#hashes);
    this.#hashes = [];
    this.met ||= this.root === this.#expect_root;
    return this.root === row.root ? null : { seq, problem: "chain_broken" };
  }

  /** Returns the seq of an erased entry that no entry of the trail names; null: there is none. */
  erasedInSecret(): number | null {
    for (const [name, seq] of this.#erased) if (!this.#named.has(name)) return seq;
    return null;
  }
}
