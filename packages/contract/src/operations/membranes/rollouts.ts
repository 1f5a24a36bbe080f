import { limits } from "../../limits.ts";
import {
  closed,
  givenId,
  nullable,
  Rollout,
  RolloutAdvance,
  RolloutInput,
  RolloutReason,
  RolloutReturn,
  wrapped,
} from "../../resources/index.ts";
import type { Operation } from "../operation.ts";

const params = closed({ membrane_id: givenId("prefix mem_") });
const one = { 200: { description: "The rollout.", schema: wrapped("rollout", Rollout) } } as const;

export const rolloutOperations = {
  getRollout: {
    method: "GET",
    path: "/v1/membranes/{membrane_id}/rollout",
    tag: "Membranes",
    summary: "Read the rollout of a membrane",
    auth: ["reviewer", "auditor"],
    rate: "general",
    params,
    answers: {
      200: { description: "The rollout; null: there is none.", schema: wrapped("rollout", nullable(Rollout)) },
    },
  },
  planRollout: {
    method: "PUT",
    path: "/v1/membranes/{membrane_id}/rollout",
    tag: "Membranes",
    summary: "Plan to enforce decisions for more and more agents",
    description:
      "The membrane must be in shadow. After it goes live, a registered agent outside of the share stays in shadow if its key is bound " +
      "to this agent alone. Everybody else is enforced. A greater share keeps the agents of a smaller one.",
    auth: ["admin"],
    rate: "general",
    params,
    body: RolloutInput,
    body_bytes_max: limits.body_bytes_max,
    answers: one,
    refuses: ["state_conflict"],
  },
  removeRollout: {
    method: "DELETE",
    path: "/v1/membranes/{membrane_id}/rollout",
    tag: "Membranes",
    summary: "Remove the plan of a rollout",
    description: "The membrane must be in shadow. It then goes live for all agents.",
    auth: ["admin"],
    rate: "general",
    params,
    answers: { 204: { description: "The plan is removed.", schema: null } },
    refuses: ["state_conflict"],
  },
  advanceRollout: {
    method: "POST",
    path: "/v1/membranes/{membrane_id}/rollout/advance",
    tag: "Membranes",
    summary: "Enforce decisions for the next share of agents",
    auth: ["admin"],
    rate: "general",
    params,
    body: RolloutAdvance,
    body_bytes_max: limits.body_bytes_max,
    answers: one,
    refuses: ["state_conflict"],
  },
  stopRollout: {
    method: "POST",
    path: "/v1/membranes/{membrane_id}/rollout/stop",
    tag: "Membranes",
    summary: "Stop the advance of a rollout",
    description: "The present share stays enforced.",
    auth: ["admin"],
    rate: "general",
    params,
    body: RolloutReason,
    body_bytes_max: limits.body_bytes_max,
    answers: one,
    refuses: ["state_conflict"],
  },
  returnRollout: {
    method: "POST",
    path: "/v1/membranes/{membrane_id}/rollout/return",
    tag: "Membranes",
    summary: "Return a rollout to an earlier stage",
    description:
      "The rollout stops there. Where going live needs two people, the first call is a request (`requested_return`), and a second, " +
      "different person must ask for the same stage.",
    auth: ["admin"],
    rate: "general",
    params,
    body: RolloutReturn,
    body_bytes_max: limits.body_bytes_max,
    answers: one,
    refuses: ["state_conflict"],
  },
} as const satisfies Record<string, Operation>;
