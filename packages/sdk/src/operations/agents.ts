import type { AgentDetails, AgentInput, RegisteredAgent } from "@countersign/contract";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

/** Filters of `listAgents`. */
export interface AgentQuery extends PageQuery {
  readonly prefix?: string;
}

/** The methods on the register of agents. */
export function agentCalls(call: Transport) {
  const path = (agent_id: string) => `/v1/agents/${encodeURIComponent(agent_id)}`;
  return {
    /** Lists the agents that acted or were registered, in the order of their ids. */
    listAgents: (query: AgentQuery = {}) =>
      call<Page<"agents", RegisteredAgent>>("GET", "/v1/agents", { query: { ...query } }),

    /** Reads an agent: who answers for it, what it did in 31 days, its keys and its open reviews. */
    getAgent: async (agent_id: string) => (await call<{ agent: AgentDetails }>("GET", path(agent_id))).agent,

    /** Registers an agent, or replaces its entry. A field that is left out is cleared. */
    registerAgent: async (agent_id: string, input: AgentInput) =>
      (await call<{ agent: RegisteredAgent }>("PUT", path(agent_id), { body: input })).agent,
  };
}
