import Type from "typebox";
import { limits } from "../limits.ts";
import {
  chosenName,
  closed,
  Freeze,
  FreezeInput,
  FreezePreview,
  FreezePreviewQuery,
  givenId,
  OrganizationChange,
  OrganizationSettings,
  UnfreezeInput,
  Unfreezing,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const agent = closed({
  agent_id: chosenName(
    limits.agent_id_chars_max,
    "most HTTP clients change `.` and `..`, escaped or not, into another path; the agent.id of intents",
  ),
});
const key = closed({ key_id: givenId("prefix key_") });
const freeze = {
  method: "POST",
  tag: "Freezes",
  rate: "general",
  description:
    "After this answer nothing of the frozen subject is approved on any node (docs/how-to/freeze.md). Freezing again replaces mode and reason.",
  auth: ["operator"],
  body: FreezeInput,
  body_bytes_max: limits.body_bytes_max,
  answers: { 200: { description: "The freeze.", schema: wrapped("freeze", Freeze) } },
  refuses: ["already_exists"],
} as const;
const unfreeze = {
  method: "POST",
  tag: "Freezes",
  rate: "general",
  auth: ["admin"],
  body: UnfreezeInput,
  body_bytes_max: limits.body_bytes_max,
  answers: {
    200: { description: "The freeze has ended. The answer has its last state.", schema: Unfreezing },
    202: { description: "A second, different person must unfreeze the subject, too.", schema: Unfreezing },
  },
  refuses: ["not_found", "state_conflict"],
} as const;

/** See docs/decisions/0034-freezes.md. */
export const freezeOperations = {
  listFreezes: {
    method: "GET",
    path: "/v1/freezes",
    tag: "Freezes",
    summary: "List what is frozen",
    auth: ["reviewer", "auditor"],
    rate: "general",
    answers: { 200: { description: "Newest first.", schema: Type.Object({ freezes: Type.Array(Freeze) }) } },
  },
  previewFreeze: {
    method: "GET",
    path: "/v1/freezes/preview",
    tag: "Freezes",
    summary: "Count what a freeze would stop",
    auth: ["operator"],
    rate: "general",
    query: FreezePreviewQuery,
    answers: { 200: { description: "The counts.", schema: wrapped("preview", FreezePreview) } },
    refuses: ["not_found"],
  },
  freezeAgent: { ...freeze, path: "/v1/agents/{agent_id}/freeze", summary: "Freeze an agent", params: agent },
  unfreezeAgent: { ...unfreeze, path: "/v1/agents/{agent_id}/unfreeze", summary: "Unfreeze an agent", params: agent },
  freezeKey: {
    ...freeze,
    path: "/v1/api-keys/{key_id}/freeze",
    summary: "Freeze a key, its rotations and the keys that it made",
    params: key,
  },
  unfreezeKey: { ...unfreeze, path: "/v1/api-keys/{key_id}/unfreeze", summary: "Unfreeze a key", params: key },
  freezeOrganization: { ...freeze, path: "/v1/organization/freeze", summary: "Freeze all agents and keys" },
  unfreezeOrganization: { ...unfreeze, path: "/v1/organization/unfreeze", summary: "Unfreeze the organization" },
  getOrganization: {
    method: "GET",
    path: "/v1/organization",
    tag: "Organization",
    summary: "Read the organization's settings",
    auth: ["reviewer", "auditor"],
    rate: "general",
    answers: { 200: { description: "The settings.", schema: wrapped("organization", OrganizationSettings) } },
  },
  changeOrganization: {
    method: "PATCH",
    path: "/v1/organization",
    tag: "Organization",
    summary: "Change the organization's settings",
    auth: ["admin"],
    rate: "general",
    body: OrganizationChange,
    body_bytes_max: limits.small_body_bytes_max,
    answers: { 200: { description: "The settings.", schema: wrapped("organization", OrganizationSettings) } },
    refuses: ["state_conflict"],
  },
} as const satisfies Record<string, Operation>;
