import type {
  ContextDocument,
  ContextSource,
  ContextSourceInput,
  ContextValidation,
  StoredContext,
} from "@countersign/contract";
import type { Transport } from "../transport.ts";

/** As `action.target` of an intent. */
export interface ContextTarget {
  readonly type: string;
  readonly identifier: string;
}

/**
 * Stored facts. A document replaces the whole document in the same place. Decisions committed after the call use it.
 * Reading and deleting throw `ApiError` (`not_found`) if nothing is stored.
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
    /** Returns the problems of a context document, without storing it. */
    validateContext: (document: unknown) =>
      call<ContextValidation>("POST", "/v1/context/validate", { body: document, repeatable: true }),

    /** Stores facts for the intents of all agents. */
    putOrgContext: (document: ContextDocument) => put(org, document),
    getOrgContext: () => get(org),
    deleteOrgContext: () => remove(org),

    /** Stores facts about one agent. They override those about the organization. */
    putAgentContext: (agent_id: string, document: ContextDocument) => put(agent(agent_id), document),
    getAgentContext: (agent_id: string) => get(agent(agent_id)),
    deleteAgentContext: (agent_id: string) => remove(agent(agent_id)),

    /** Stores facts about a target. They override those about the agent. */
    putTargetContext: (subject: ContextTarget, document: ContextDocument) => put(target(subject), document),
    getTargetContext: (subject: ContextTarget) => get(target(subject)),
    deleteTargetContext: (subject: ContextTarget) => remove(target(subject)),

    /** Registers your endpoint. Only this answer shows its secret, which is new each time. */
    putContextSource: async (input: ContextSourceInput) =>
      (await call<{ source: ContextSource }>("PUT", source, { body: input })).source,
    getContextSource: async () => (await call<{ source: ContextSource }>("GET", source)).source,
    /** Removes the endpoint. Decisions committed after the call do not use its facts. */
    deleteContextSource: () => remove(source),
  };
}
