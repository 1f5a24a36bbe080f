import {
  limits,
  type Membrane,
  open_mode_org_id,
  type Quickstart,
  type QuickstartInput,
  secret_mask,
} from "@countersign/contract";
import {
  canonicalJson,
  confirmSteps,
  Fault,
  faultAt,
  formatTimestampUs,
  packSteps,
  recommendPacks,
  sha256Hex,
  sureActions,
  sureClasses,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { lockKey, markRevoked } from "../../store/keys/keys.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { takeIntake } from "../../store/organizations/organizations.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { isYoung, type OnceAnswer, once, storeAnswer } from "../../store/rows/idempotency.ts";
import { insertNewKey, type KeyToCreate } from "../keys/create-key.ts";
import type { Runtime } from "../runtime.ts";
import { createOrganization } from "./create-organization.ts";

type Needs = Pick<Runtime, "db" | "clock" | "ids" | "settings" | "callers">;

/**
 * Creates an organization, its default membrane in shadow, and a live admin key. A repetition under the same
 * Idempotency-Key, which is a secret, gets a new key for the same organization. Faults: not_found (intake),
 * invalid_request (Idempotency-Key), idempotency_conflict (another body, too late, or the first key was used or
 * revoked). Source: spec §1, §2.1 and §4.
 */
export async function quickstart(
  runtime: Needs,
  input: QuickstartInput,
  idempotency_key?: string,
): Promise<OnceAnswer<Quickstart>> {
  if (idempotency_key === undefined)
    return { response: await runtime.db.system((query) => create(runtime, query, input)), replayed: false };
  refuseGuessable(idempotency_key);
  await runtime.callers.writeUses(null);
  return runtime.db.system(async (query) => {
    const request = {
      // Stored in the open-mode organization, because the new one does not exist yet.
      org_id: open_mode_org_id,
      operation: "quickstart",
      // Hashed, because the Idempotency-Key is a secret until the organization is used.
      idempotency_key: sha256Hex(idempotency_key),
      request_sha256: sha256Hex(canonicalJson(input)),
      created_at: formatTimestampUs(runtime.clock.now_us()),
    };
    const kept = (response: Quickstart) => ({ ...response, api_key: secret_mask, quickstart_snippet: "" });
    const first = await once(query, request, () => create(runtime, query, input), kept);
    if (!first.replayed) return first;
    if (!(await isYoung(query, request, limits.quickstart_repeated_seconds_max)))
      throw new Fault("idempotency_conflict");
    const response = await withNewKey(runtime, query, first.response);
    await storeAnswer(query, request, kept(response));
    return { response, replayed: true };
  });
}

async function create(runtime: Needs, query: Query, input: QuickstartInput): Promise<Quickstart> {
  const org_id = runtime.ids.next("organization");
  const intake = input.intake_id === undefined ? undefined : await takeIntake(query, input.intake_id, org_id);
  if (input.intake_id !== undefined && intake === undefined) {
    throw faultAt("not_found", "/intake_id", "not_found", "There is no such intake, or it was already used.");
  }
  const proposed = intake?.action_catalogue ?? [];
  const membrane = await createOrganization(runtime, query, {
    org_id,
    name: input.org_name,
    email: input.email,
    description: input.description,
    action_catalogue: sureActions(proposed).map(({ verb, type, data_classes, parameters }) => ({
      verb,
      type,
      ...(parameters !== undefined && { parameters }),
      data_classes: [...sureClasses(data_classes)],
    })),
    actor: "system",
  });
  if (membrane === null) throw new Error(`${org_id} exists already`);
  const key = await insertNewKey(runtime, query, firstKey(org_id));
  const recommended = intake?.recommended_packs ?? recommendPacks(input, []);
  return {
    membrane_id: membrane.membrane_id,
    membrane_status: "shadow",
    org_id,
    api_key: key.api_key,
    key_id: key.key_id,
    quickstart_snippet: snippet(runtime.settings.public_url(), membrane, key.api_key),
    next_steps: [
      "Store the API key now: it is shown here only. It is an admin key, so give it to no agent.",
      "Run the snippet (node 18 or newer): it creates a key that is bound to an agent and to the membrane, stores it in a file, submits an " +
        "intent with it, and prints the decision.",
      ...packSteps(recommended),
      ...confirmSteps(proposed),
      `Watch decisions in shadow mode, then enforce them: POST /v1/membranes/${membrane.membrane_id}/go-live.`,
    ],
  };
}

async function withNewKey(runtime: Needs, query: Query, first: Quickstart): Promise<Quickstart> {
  const { org_id, key_id } = first;
  let person = key_id;
  await withHead(query, org_id, async () => {
    const key = await lockKey(query, org_id, key_id);
    const at = await databaseNow(query);
    if (key === undefined || key.last_used_at !== null || !(await markRevoked(query, org_id, key_id, at)))
      throw new Fault("idempotency_conflict");
    // Same person, because a repetition must not end solo mode.
    person = key.person;
    const data = { key_id, name: key.name };
    return {
      raise: ["auth"],
      audit: [auditRow(runtime.ids, { intent_id: null, at, actor: "system", type: "key_revoked", data })],
    };
  });
  const { api_key, key_id: new_key_id } = await insertNewKey(runtime, query, { ...firstKey(org_id), person });
  return {
    ...first,
    api_key,
    key_id: new_key_id,
    quickstart_snippet: snippet(runtime.settings.public_url(), first, api_key),
  };
}

function firstKey(org_id: string): KeyToCreate {
  return {
    ...{ org_id, name: "quickstart", environment: "live", scope: "org", role: "admin", agent_id: null },
    ...{ created_by: null, actor: "system" },
  };
}

/** Faults: invalid_request (a guessable key). Counts 6 bits per character, 4 per hexadecimal digit. */
function refuseGuessable(idempotency_key: string): void {
  const digits = idempotency_key.replaceAll("-", "");
  const bits = /^[0-9a-f]+$/i.test(digits) ? digits.length * 4 : idempotency_key.length * 6;
  if (bits >= limits.quickstart_idempotency_key_bits_min && new Set(idempotency_key).size >= 8) return;
  const message = "Send at least 128 random bits, such as a UUID: anyone who knows this key can repeat the quickstart.";
  throw faultAt("invalid_request", "/Idempotency-Key", "out_of_range", message);
}

function snippet(public_url: string, { membrane_id }: Pick<Membrane, "membrane_id">, admin_key: string): string {
  return `// first-intent.mjs: run with "node first-intent.mjs"
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const service = "${public_url}";
const agent_id = "my-first-agent";
const key_file = "my-first-agent.${membrane_id}.key";

async function call(path, api_key, body) {
  const response = await fetch(service + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-API-Key": api_key },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (answer.error) throw new Error(answer.error.message);
  return answer;
}

// Once, with the admin key: create a key that can only submit, for this agent and this membrane, and store it.
if (!existsSync(key_file)) {
  const bindings = { membrane_ids: ["${membrane_id}"], agent_ids: [agent_id], forbid_shadow: true };
  const created = await call("/v1/api-keys", "${admin_key}", { name: agent_id, role: "agent", bindings });
  writeFileSync(key_file, created.api_key, { mode: 0o600 });
}

// The agent gets its own key and never the admin key.
const agent_key = readFileSync(key_file, "utf8");
const { decision } = await call("/v1/intents", agent_key, {
  intent: {
    agent: { id: agent_id },
    action: { type: "communication.email", verb: "send_email", target: { type: "mailbox", identifier: "someone@example.com" } },
    payload: { summary: "Say hello", content: { subject: "Hello", body: "Sent by an agent, after asking." } },
  },
});
console.log(decision.verdict, "risk", decision.risk_score, "mode", decision.pipeline_mode);
for (const reason of decision.reasons) console.log("-", reason.policy, reason.message);
`;
}
