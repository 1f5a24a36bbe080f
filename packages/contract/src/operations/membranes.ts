import { limits } from "../limits.ts";
import {
  Coverage,
  closed,
  givenId,
  listed,
  listQuery,
  Membrane,
  MembraneChange,
  MembraneInput,
  MembraneLive,
  MembraneSaved,
  Usage,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const params = closed({ membrane_id: givenId("prefix mem_") });
const one = { 200: { description: "The membrane.", schema: wrapped("membrane", Membrane) } } as const;

/** Membranes: create, read, change, go live and back. */
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
  goLive: {
    method: "POST",
    path: "/v1/membranes/{membrane_id}/go-live",
    tag: "Membranes",
    summary: "Start enforcing the membrane's decisions",
    auth: ["admin"],
    rate: "general",
    params,
    answers: { 200: { description: "The membrane, and the next steps.", schema: MembraneLive } },
    refuses: ["state_conflict"],
  },
  returnToShadow: {
    method: "POST",
    path: "/v1/membranes/{membrane_id}/return-to-shadow",
    tag: "Membranes",
    summary: "Stop enforcing the membrane's decisions",
    auth: ["admin"],
    rate: "general",
    params,
    answers: one,
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
