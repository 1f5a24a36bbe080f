import { limits } from "../limits.ts";
import {
  BlockedTools,
  BlockedToolsInput,
  Coverage,
  closed,
  GoLiveInput,
  givenId,
  listed,
  listQuery,
  Membrane,
  MembraneChange,
  MembraneInput,
  MembraneLive,
  MembraneReadiness,
  MembraneReturned,
  MembraneSaved,
  ReturnToShadowInput,
  Usage,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const params = closed({ membrane_id: givenId("prefix mem_") });
const one = { 200: { description: "The membrane.", schema: wrapped("membrane", Membrane) } } as const;

export const membraneOperations = {
  listMembranes: {
    method: "GET",
    path: "/v1/membranes",
    tag: "Membranes",
    summary: "List membranes",
    auth: ["reviewer", "auditor"],
    rate: "general",
    query: listQuery({}),
    answers: { 200: { description: "Newest first.", schema: listed("membranes", Membrane) } },
  },
  createMembrane: {
    method: "POST",
    path: "/v1/membranes",
    tag: "Membranes",
    summary: "Create a membrane, in shadow",
    auth: ["admin"],
    rate: "general",
    idempotent: true,
    body: MembraneInput,
    body_bytes_max: limits.body_bytes_max,
    body_values_max: limits.membrane_values_max,
    answers: {
      201: { description: "The membrane, and warnings about its packs.", schema: MembraneSaved, headers: ["Location"] },
    },
    refuses: ["already_exists"],
  },
  getMembrane: {
    method: "GET",
    path: "/v1/membranes/{membrane_id}",
    tag: "Membranes",
    summary: "Read a membrane",
    auth: ["reviewer", "auditor"],
    rate: "general",
    params,
    answers: one,
  },
  changeMembrane: {
    method: "PATCH",
    path: "/v1/membranes/{membrane_id}",
    tag: "Membranes",
    summary: "Change a membrane's settings",
    description:
      "Each given field replaces the old value; of `thresholds` and `escalation`, each given member does. Later commits use the new settings.",
    auth: ["admin"],
    rate: "general",
    params,
    body: MembraneChange,
    body_bytes_max: limits.body_bytes_max,
    body_values_max: limits.membrane_values_max,
    answers: { 200: { description: "The membrane, and warnings about the given packs.", schema: MembraneSaved } },
    refuses: ["already_exists"],
  },
  getCoverage: {
    method: "GET",
    path: "/v1/membranes/{membrane_id}/coverage",
    tag: "Membranes",
    summary: "Read which rules cover the actions of agents",
    description:
      "Covers the last 31 days, by verb, action type and data classes. An action that no rule names is judged only by the rules " +
      "for every action and by the membrane's default. Before going live, check whether such an action has the wrong name.",
    auth: ["reviewer", "auditor"],
    rate: "general",
    params,
    answers: { 200: { description: "The coverage.", schema: wrapped("coverage", Coverage) } },
  },
  findBlockedTools: {
    method: "POST",
    path: "/v1/tools/blocked",
    tag: "Membranes",
    summary: "Find the tools whose calls are always blocked for an agent",
    description:
      'Writes nothing. A tool is always blocked if a live rule with `when: "true"` and without an end blocks its verb, its type in the ' +
      "catalogue, or the agent, or if the default verdict is `block`. People can still override such a block. A tool that is not in the " +
      "answer may be blocked, too: by a condition, a fact or a freeze.",
    auth: "any",
    rate: "general",
    body: BlockedToolsInput,
    body_bytes_max: limits.body_bytes_max,
    answers: { 200: { description: "The blocked tools.", schema: BlockedTools } },
    refuses: ["forbidden", "not_found", "state_conflict"],
  },
  getMembraneReadiness: {
    method: "GET",
    path: "/v1/membranes/{membrane_id}/readiness",
    tag: "Membranes",
    summary: "Read whether the membrane is ready to go live",
    description:
      "Covers the membrane's decisions in shadow of the last 31 days: how many there were, what live decisions would hold and block, " +
      "whether people, facts, rules and webhooks are ready for that, and what people say about a sample of the holds. The verdict refuses " +
      "nothing, except with the setting go_live_needs_ready of the organization.",
    auth: ["reviewer", "auditor"],
    rate: "general",
    params,
    answers: { 200: { description: "The readiness.", schema: wrapped("readiness", MembraneReadiness) } },
  },
  goLive: {
    method: "POST",
    path: "/v1/membranes/{membrane_id}/go-live",
    tag: "Membranes",
    summary: "Start enforcing the membrane's decisions",
    description:
      "Settings of the organization can refuse this while the membrane is not ready, ask for its name, or ask for a second person.",
    auth: ["admin"],
    rate: "general",
    params,
    body: GoLiveInput,
    body_optional: true,
    body_bytes_max: limits.body_bytes_max,
    answers: {
      200: { description: "The membrane, and the next steps.", schema: MembraneLive },
      202: { description: "A second, different person must send the same within 24 hours.", schema: MembraneLive },
    },
    refuses: ["state_conflict"],
  },
  returnToShadow: {
    method: "POST",
    path: "/v1/membranes/{membrane_id}/return-to-shadow",
    tag: "Membranes",
    summary: "Stop enforcing the membrane's decisions",
    description:
      "Open reviews stay open. All admins get a mail with the reason. Where going live needs two people, this does, too.",
    auth: ["admin"],
    rate: "general",
    params,
    body: ReturnToShadowInput,
    body_bytes_max: limits.body_bytes_max,
    answers: {
      200: { description: "The membrane.", schema: MembraneReturned },
      202: { description: "A second, different person must send the same within 24 hours.", schema: MembraneReturned },
    },
    refuses: ["state_conflict"],
  },
  getUsage: {
    method: "GET",
    path: "/v1/usage",
    tag: "Usage",
    summary: "Read this month's use of the plan",
    auth: "any",
    rate: "general",
    answers: { 200: { description: "The usage.", schema: wrapped("usage", Usage) } },
  },
} as const satisfies Record<string, Operation>;
