import { limits } from "../limits.ts";
import {
  AgentDetails,
  AgentInput,
  AgentListQuery,
  chosenName,
  closed,
  ListedAgent,
  listed,
  RegisteredAgent,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const params = closed({
  agent_id: chosenName(
    limits.agent_id_chars_max,
    "most HTTP clients fold `.` and `..`, escaped or not, into another path; the id that intents give as agent.id",
  ),
});

/** The register of agents. See docs/decisions/0043-agents.md. */
export const agentOperations = {
  listAgents: {
    method: "GET",
    path: "/v1/agents",
    tag: "Agents",
    summary: "List the agents that acted or were registered",
    auth: ["reviewer", "auditor"],
    rate: "general",
    query: AgentListQuery,
    answers: { 200: { description: "In the order of their ids.", schema: listed("agents", ListedAgent) } },
  },
  getAgent: {
    method: "GET",
    path: "/v1/agents/{agent_id}",
    tag: "Agents",
    summary: "Read an agent: who answers for it, what it did, its keys and its open reviews",
    auth: ["reviewer", "auditor"],
    rate: "general",
    params,
    answers: { 200: { description: "The agent.", schema: wrapped("agent", AgentDetails) } },
    refuses: ["not_found"],
  },
  registerAgent: {
    method: "PUT",
    path: "/v1/agents/{agent_id}",
    tag: "Agents",
    summary: "Register an agent, or change its entry",
    description:
      "Rules, freezes and key bindings that name an agent also bind the agents below it. A change of the parent takes effect with the next decision on every node.",
    auth: ["admin"],
    rate: "general",
    params,
    body: AgentInput,
    body_bytes_max: limits.small_body_bytes_max,
    answers: { 200: { description: "The entry.", schema: wrapped("agent", RegisteredAgent) } },
    refuses: ["state_conflict"],
  },
} as const satisfies Record<string, Operation>;
