import type {
  ContextDocument,
  ContextSource,
  ContextSourceInput,
  ContextValidation,
  StoredContext,
} from "@countersign/contract";
import type { Transport } from "./transport.ts";

/** What an action touches, as `action.target` of an intent names it. */
export interface ContextTarget {
  readonly type: string;
  readonly identifier: string;
}

/** The methods on stored facts. A document replaces what was stored in the same place. Source: api.md §5. */
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

    putOrgContext: (document: ContextDocument) => put(org, document),
    getOrgContext: () => get(org),
    deleteOrgContext: () => remove(org),

    putAgentContext: (agent_id: string, document: ContextDocument) => put(agent(agent_id), document),
    getAgentContext: (agent_id: string) => get(agent(agent_id)),
    deleteAgentContext: (agent_id: string) => remove(agent(agent_id)),

    putTargetContext: (subject: ContextTarget, document: ContextDocument) => put(target(subject), document),
    getTargetContext: (subject: ContextTarget) => get(target(subject)),
    deleteTargetContext: (subject: ContextTarget) => remove(target(subject)),

    /** Registers your endpoint; the answer is the only one that shows its secret, a new one each time. */
    putContextSource: async (input: ContextSourceInput) =>
      (await call<{ source: ContextSource }>("PUT", source, { body: input })).source,
    getContextSource: async () => (await call<{ source: ContextSource }>("GET", source)).source,
    deleteContextSource: () => remove(source),
  };
}
