import type { Query } from "../../ports.ts";
import { commitStatement, outcomeOf, type RefusedDecision } from "./commit-call.ts";
import { callsOf, encode, parametersOf, type RecordTypes, record_types_query } from "./commit-records.ts";
import type { CommitOutcome, DecisionRows } from "./commit-writer-rows.ts";

/**
 * Commits one decision in the transaction of `query`. Locks the organization's head. Any outcome but `committed` wrote
 * nothing.
 */
export async function commitOne(query: Query, rows: DecisionRows): Promise<CommitOutcome> {
  const [types] = await query<RecordTypes>(record_types_query);
  const [call] = callsOf([encode(rows)], false);
  if (types === undefined || call === undefined) throw new Error("no call was made for the decision");
  const [refused] = await query<RefusedDecision>(commitStatement().text, parametersOf(call, types));
  const outcome = refused === undefined ? ({ outcome: "committed" } as const) : outcomeOf(refused);
  if (outcome === "no_head") throw new Error(`organization ${rows.org_id} has no head row`);
  return outcome;
}
