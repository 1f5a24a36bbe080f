/** Guards plain functions, for agents with a tool loop of their own. The answer is a value, not an exception. */
import { refuseGenerator } from "../guard.ts";
import { createToolGate, type GateClient, type GateOptions, type Review } from "./tool-gate.ts";

export type { GateClient, GateOptions, Review };

/** How the caller's loop names the call. With the same names the same call never makes a second intent. */
export interface CallTerms {
  readonly call_id?: string;
  readonly session?: string;
  readonly signal?: AbortSignal;
}

export type Answer<Result> =
  /** The function ran. The model must read `notes` besides the result. */
  | { readonly status: "done"; readonly result: Result; readonly notes: readonly string[] }
  /** The function did not run. The model must read `text`. */
  | { readonly status: "refused"; readonly text: string; readonly intent_id: string }
  /** People decide. Call the function again with the same arguments, `call_id` and `session` after the review. */
  | { readonly status: "suspended"; readonly review: Review };

/** Returns a function that submits each call under `name` before it runs. */
export function guardFunction<Params extends object, Result>(
  client: GateClient,
  options: GateOptions,
  name: string,
  run: (params: Params) => Result | Promise<Result>,
): (params: Params, terms?: CallTerms) => Promise<Answer<Result>> {
  refuseGenerator(name, run);
  const gate = createToolGate(client, "functions", options);
  return async (params, terms = {}) => {
    const answer = await gate.run({ name, args: params, ...terms }, (args) => run(args as Params));
    if (answer.kind === "ran") return { status: "done", result: answer.result, notes: answer.notes };
    if (answer.kind === "suspended") return { status: "suspended", review: answer.review };
    return { status: "refused", text: answer.text, intent_id: answer.intent_id };
  };
}
