import { foldName, limits, type Membrane, type PolicyDiagnostic } from "@countersign/contract";
import {
  classifyAction,
  formatTimestampUs,
  type Located,
  type PolicyDocument,
  type RecordedTool,
  readsParameters,
  unrecordedParameterSteps,
  us_per_day,
} from "@countersign/core";
import { type RecordedTools, readRecordedTools } from "../../store/policies/recorded-tools.ts";
import type { Runtime } from "../runtime.ts";
import { inTurns } from "../shared/turns.ts";

/** Warns about parameters that a policy reads and no action of the last 7 days had. Reads nothing if it reads none. */
export async function parameterWarnings(
  { db, clock }: Pick<Runtime, "db" | "clock">,
  org_id: string,
  { document, located, membranes }: { document: PolicyDocument; located: Located; membranes: readonly Membrane[] },
): Promise<readonly PolicyDiagnostic[]> {
  if (!readsParameters(document)) return [];
  const from = formatTimestampUs(clock.now_us() - limits.policy_readiness_days * us_per_day);
  const recorded = await db.tenant(org_id, (query) => readRecordedTools(query, org_id, from));
  return inTurns(unrecordedParameterSteps(document, located, toolsOf(recorded, membranes)));
}

/** Gives each tool the type that its membrane decides with. */
function toolsOf(recorded: readonly RecordedTools[], membranes: readonly Membrane[]): RecordedTool[] {
  const catalogues = new Map(
    membranes.map(({ membrane_id, action_catalogue }) => [
      membrane_id,
      new Map(action_catalogue.map((entry) => [foldName(entry.verb), entry])),
    ]),
  );
  return recorded.map(({ membrane_id, verb, type, count, parameters }) => {
    const action = { verb, type: type ?? undefined };
    const classified = classifyAction({ action }, catalogues.get(membrane_id) ?? new Map());
    return { type: classified.type, verb: foldName(verb), count, parameters };
  });
}
