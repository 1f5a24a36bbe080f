/** The commit of one decision as a part of a larger transaction. Everything else goes through the commit writer. */
import type { Query } from "../../ports.ts";
import { commitStatement, outcomeOf, type RefusedDecision } from "./commit-call.ts";
import { callsOf, encode, parametersOf, type RecordTypes, record_types_query } from "./commit-records.ts";
import type { CommitOutcome, DecisionRows } from "./commit-writer-rows.ts";

/** Commits one decision with the transaction of `query`. Locks the organization's head. Anything but `committed` wrote nothing. */
export async function commitOne(query: Query, rows: DecisionRows): Promise<CommitOutcome> {
  const [types] = await query<RecordTypes>(record_types_query);
  const [call] = callsOf([encode(rows)], false);
  if (types === undefined || call === undefined) throw new Error("a decision without a call");
  const [refused] = await query<RefusedDecision>(commitStatement().text, parametersOf(call, types));
  const outcome = refused === undefined ? ({ outcome: "committed" } as const) : outcomeOf(refused);
  if (outcome === "no_head") throw new Error(`organization ${rows.org_id} has no head row`);
  return outcome;
}
