import type { IntentSubmission } from "@countersign/contract";
import { contextErrors } from "@countersign/core";
import type { Runtime } from "../runtime.ts";
import type { OrgState, Pulled } from "../shared/node-services.ts";

/**
 * Returns a function that asks for the facts of one submission, once per registration. Null: no source, or the
 * submission will be refused anyway. `replaced`: the state is older than the registration.
 */
export function pullContext(
  runtime: Pick<Runtime, "clock" | "pulls">,
  org_id: string,
  submission: IntentSubmission,
): (state: OrgState) => Promise<Pulled | "replaced" | null> {
  let asked: { readonly revision: string; readonly pulled: Pulled } | null = null;
  return async (state) => {
    const { source } = state;
    if (source === null) return null;
    if (asked?.revision === source.secret_sealed) return asked.pulled;
    const deciding = state.membrane(submission.membrane_id);
    if (deciding === undefined || deciding.membrane.status === "draft") return null;
    const inline = submission.context;
    if (inline !== undefined && contextErrors(inline, runtime.clock.now_us()).length > 0) return null;
    const ages = deciding.policySet.prepare(deciding.membrane).limits;
    const pulled = await runtime.pulls.pull(org_id, source, submission.intent, ages);
    if (pulled === null) return "replaced";
    asked = { revision: source.secret_sealed, pulled };
    return pulled;
  };
}
