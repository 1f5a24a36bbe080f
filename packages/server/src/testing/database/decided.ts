import type { PipelineMode, Verdict } from "@countersign/contract";
import type { Database } from "../../store/database/db.ts";
import { firstIdAt } from "../../store/rows/first-id-at.ts";

/** Absent fields get ordinary values. */
export interface Decided {
  /** RFC 3339. */
  readonly at: string;
  readonly membrane_id?: string;
  readonly agent_id?: string;
  readonly mode?: PipelineMode;
  readonly verdict?: Verdict;
  readonly risk_score?: number;
  readonly reasons?: readonly object[];
  readonly decision?: string;
  /** The verb of the submitted action; absent: the intent is empty. */
  readonly verb?: string;
}

let stored = 0;

/** Each takes two seqs. Creates a missing head. */
export async function addDecided(db: Database, org_id: string, decisions: readonly Decided[]): Promise<void> {
  const rows = decisions.map(({ at, ...given }) => {
    const { membrane_id = "mem_a", agent_id = "a", mode = "live", verdict = "block" } = given;
    const { risk_score = 0.5, reasons = [{ policy_id: "pol", policy: "p", effect: "block", unknown_facts: [] }] } =
      given;
    stored += 1;
    const intent_id = `${firstIdAt("intent", Date.parse(at)).slice(0, 20)}${String(stored).padStart(16, "0")}`;
    const decision = given.decision ?? JSON.stringify({ decision_id: "dec", verdict, risk_score, reasons });
    const intent = given.verb === undefined ? {} : { submitted: { action: { verb: given.verb } } };
    return { at, intent_id, membrane_id, agent_id, mode, verdict, intent, decision };
  });
  await db.query(
    `insert into org_heads (org_id, auth_epoch, policy_epoch, context_epoch, webhooks, audit_seq, audit_root, entries, usage_period, usage_used)
     select $1, 0, 0, 0, 0, 0, '', 0, '2026-11', 0 where not exists (select from org_heads where org_id = $1)`,
    [org_id],
  );
  await db.query(
    `with head as materialized (select audit_seq as seq, entries from org_heads where org_id = $1 for update),
     given as (
       select * from rows from (json_to_recordset($2::json) as (at timestamptz, intent_id text, membrane_id text, agent_id text, mode text,
         verdict text, intent json, decision text)) with ordinality as r(at, intent_id, membrane_id, agent_id, mode, verdict, intent, decision, n)),
     put as (
       insert into ledger (org_id, seq, entry, at, type, actor, intent_id, decision_id, membrane_id, agent_id, mode, verdict, intent, facts,
         data, hash)
       select $1, head.seq + 2 * n, head.entries + n - 1, at, 'decided', 'key_1', intent_id, 'dec', membrane_id, agent_id, mode, verdict,
         intent, '{"origins":[]}', decision::json, '' from given, head)
     update org_heads h set audit_seq = head.seq + 2 * (select count(*) from given), entries = head.entries + (select count(*) from given)
     from head where h.org_id = $1`,
    [org_id, JSON.stringify(rows)],
  );
}
