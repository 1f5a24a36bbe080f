import { attestsFacts, type ContextDocument, type IntentSubmission, limits } from "@countersign/contract";
import {
  authenticatedAs,
  type ContextSource,
  contextErrors,
  type FactDocument,
  Fault,
  faultAt,
  type MergedFacts,
  mergeFacts,
  normalizeContext,
  superiorsOf,
} from "@countersign/core";
import type { Recording } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import type { OrgState, Pulled } from "../shared/node-services.ts";
import { storedSources, subjectsOf } from "../shared/present.ts";

/** The submission, and where its facts come from. */
export interface FactSources {
  readonly caller: Caller;
  readonly state: OrgState;
  readonly submission: IntentSubmission;
  readonly pulled: Pulled | null;
  readonly token: ContextSource | null;
}

/**
 * Gathers the facts of a submission and of the agents above its agent. Returns the time of the decision with them. Faults:
 * invalid_context, invalid_request (too many agents above it).
 */
export async function gatherFacts(
  runtime: Pick<Recording, "clock">,
  { caller, state, submission, pulled, token }: FactSources,
): Promise<{ readonly now_us: number; readonly facts: MergedFacts }> {
  const inline = submission.context;
  if (inline !== undefined) refuseInvalidContext(inline, runtime.clock.now_us());
  const stored = await state.storedContext(subjectsOf(submission.intent));
  const now_us = runtime.clock.now_us();
  const sources = storedSources(stored, now_us);
  const document = withPrincipal(inline === undefined ? undefined : normalizeContext(inline), submission.intent);
  if (document !== undefined) {
    const assurance = attestsFacts(caller.role) ? "attested" : "reported";
    sources.push({ source: "inline", document, received_us: now_us, assurance });
  }
  if (pulled !== null && "document" in pulled) sources.push({ source: "pulled", ...pulled });
  if (token !== null) sources.push(token);
  const facts = mergeFacts(sources, pullFailureOf(pulled));
  const superiors = superiorsOf(
    state.parents,
    submission.intent.agent,
    token?.document.facts.identity?.["delegation_chain"],
  );
  if (superiors.length === 0) return { now_us, facts };
  const { agents_above_max } = limits;
  if (superiors.length > agents_above_max) {
    const message = `At most ${agents_above_max} agents may be above an agent, and this one has ${superiors.length}. Name no parent, or one nearer to the top.`;
    throw faultAt("invalid_request", "/intent/agent/parent", "not_allowed", message);
  }
  const shared = sources.filter(({ source }) => source !== "agent");
  const ancestors = await Promise.all(
    superiors.map(async (each) => {
      const own = await state.storedContext([{ scope: "agent", agent_id: each.id }]);
      const of_superior = mergeFacts([...shared, ...storedSources(own, now_us)], pullFailureOf(pulled));
      return { ...each, facts: authenticatedAs(of_superior, submission.intent.agent.id, each.id) };
    }),
  );
  return { now_us, facts: { ...facts, ancestors } };
}

function withPrincipal(
  inline: FactDocument | undefined,
  { agent }: IntentSubmission["intent"],
): FactDocument | undefined {
  const { on_behalf_of } = agent;
  if (on_behalf_of === undefined) return inline;
  const identity = { ...inline?.facts.identity, on_behalf_of };
  return { ...inline, facts: { ...inline?.facts, identity } };
}

function pullFailureOf(pulled: Pulled | null) {
  return pulled !== null && "failed" in pulled ? pulled.failed : null;
}

function refuseInvalidContext(document: ContextDocument, now_us: number): void {
  const errors = contextErrors(document, now_us);
  if (errors.length === 0) return;
  throw new Fault("invalid_context", { details: errors.map((error) => ({ ...error, path: `/context${error.path}` })) });
}
