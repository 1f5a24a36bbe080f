import type {
  ContextDocument,
  ContextSource,
  ContextSourceInput,
  ContextValidation,
  StoredContext,
} from "@countersign/contract";
import type { Transport } from "../transport.ts";

/** What an action touches, as `action.target` of an intent names it. */
export interface ContextTarget {
  readonly type: string;
  readonly identifier: string;
}

/**
 * The methods on stored facts. A document replaces what was stored in the same place, whole; decisions committed after the
 * call see it. Reading and deleting throw `ApiError` (`not_found`) where nothing is stored. Source: api.md §5.
 */
export function contextCalls(call: Transport) {
  const org = "/v1/context/org";
  const source = "/v1/context/source";
  const agent = (agent_id: string) => `/v1/context/agents/${encodeURIComponent(agent_id)}`;
  const target = ({ type, identifier }: ContextTarget) =>
    `/v1/context/targets/${encodeURIComponent(type)}/${encodeURIComponent(identifier)}`;

  const put = async (path: string, document: ContextDocument) =>
    (await call<{ context: StoredContext }>("PUT", path, { body: document })).context;
  const get = async (path: string) => (await call<{ context: StoredContext }>("GET", path)).context;
  const remove = (path: string) => call<null>("DELETE", path);

  return {
    /** Says what is wrong with a context document, without storing it. */
    validateContext: (document: unknown) =>
      call<ContextValidation>("POST", "/v1/context/validate", { body: document, repeatable: true }),

    /** Stores facts about the organization, for the intents of all its agents. */
    putOrgContext: (document: ContextDocument) => put(org, document),
    /** What is stored of the organization. */
    getOrgContext: () => get(org),
    /** Forgets what is stored of the organization. */
    deleteOrgContext: () => remove(org),

    /** Stores facts about one agent, in front of those about the organization. */
    putAgentContext: (agent_id: string, document: ContextDocument) => put(agent(agent_id), document),
    /** What is stored of an agent. */
    getAgentContext: (agent_id: string) => get(agent(agent_id)),
    /** Forgets what is stored of an agent. */
    deleteAgentContext: (agent_id: string) => remove(agent(agent_id)),

    /** Stores facts about what actions touch, in front of those about the agent. */
    putTargetContext: (subject: ContextTarget, document: ContextDocument) => put(target(subject), document),
    /** What is stored of a target. */
    getTargetContext: (subject: ContextTarget) => get(target(subject)),
    /** Forgets what is stored of a target. */
    deleteTargetContext: (subject: ContextTarget) => remove(target(subject)),

    /** Registers your endpoint; the answer is the only one that shows its secret, a new one each time. */
    putContextSource: async (input: ContextSourceInput) =>
      (await call<{ source: ContextSource }>("PUT", source, { body: input })).source,
    /** The registered endpoint, its secret masked. */
    getContextSource: async () => (await call<{ source: ContextSource }>("GET", source)).source,
    /** Removes the endpoint: no decision committed afterwards rests on its facts. */
    deleteContextSource: () => remove(source),
  };
}
