import type { AgentDetails, AgentInput, ListedAgent, RegisteredAgent } from "@countersign/contract";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

export interface AgentQuery extends PageQuery {
  readonly prefix?: string;
}

export function agentCalls(call: Transport) {
  const path = (agent_id: string) => `/v1/agents/${encodeURIComponent(agent_id)}`;
  return {
    /** Lists agents that acted or were registered, ordered by id. */
    listAgents: (query: AgentQuery = {}) =>
      call<Page<"agents", ListedAgent>>("GET", "/v1/agents", { query: { ...query } }),

    /** Reads an agent: its owner, its activity in 31 days, its keys and open reviews. */
    getAgent: async (agent_id: string) => (await call<{ agent: AgentDetails }>("GET", path(agent_id))).agent,

    /** Registers an agent, or replaces its entry. A missing field is cleared. */
    registerAgent: async (agent_id: string, input: AgentInput) =>
      (await call<{ agent: RegisteredAgent }>("PUT", path(agent_id), { body: input })).agent,
  };
}
