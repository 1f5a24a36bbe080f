import { getAgent, listAgents } from "../../operations/agents/read-agents.ts";
import { registerAgent } from "../../operations/agents/register-agent.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { pageLimitDefault } from "../../store/rows/cursor.ts";
import type { Handlers } from "../handler.ts";

type AgentHandlers = Pick<Handlers, "listAgents" | "getAgent" | "registerAgent">;

export function agentRoutes(runtime: Runtime): AgentHandlers {
  return {
    async listAgents({ caller, query: { limit = pageLimitDefault, cursor, ...filter } }) {
      const { rows, next_cursor } = await listAgents(runtime, caller, filter, limit, cursor);
      return { status: 200, body: { agents: rows, next_cursor } };
    },
    async getAgent({ caller, params }) {
      return { status: 200, body: { agent: await getAgent(runtime, caller, params.agent_id) } };
    },
    async registerAgent({ caller, params, body }) {
      return { status: 200, body: { agent: await registerAgent(runtime, caller, params.agent_id, body) } };
    },
  };
}
