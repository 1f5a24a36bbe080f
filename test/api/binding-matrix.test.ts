/** Checks role × operation × binding, from the contract's table. Source: decision 0041. */
import { type KeyBindingsInput, type Operation, operationRows, roleMeets, roleNames } from "@countersign/contract";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { sideBySide } from "../../packages/server/src/testing/side-by-side.ts";

const database = await testDatabase();
let url: string;
let admin: string;
let other_membrane: string;

const guarded = operationRows.filter(([, operation]) => operation.auth !== "none");
/** Operations of agents. All others are bound by networks only. */
const submitting: readonly string[] = ["submitIntent", "submitIntentBatch"];
const acting: readonly string[] = [...submitting, "claimIntent", "recordObservation", "withdrawEscalation"];

type Binding = "own_network" | "other_network" | "other_membrane" | "other_agent" | "no_shadow";
const bindings = (): Readonly<Record<Binding, KeyBindingsInput>> => ({
  own_network: { source_cidrs: ["127.0.0.0/8"] },
  other_network: { source_cidrs: ["192.0.2.0/24"] },
  other_membrane: { membrane_ids: [other_membrane] },
  other_agent: { agent_ids: ["other"] },
  no_shadow: { forbid_shadow: true },
});

const submission = { intent: { agent: { id: "bot" }, action: { verb: "v" } } };
const asAdmin = (method: string, path: string, body: object) => call(url, method, path, { key: admin, body });

beforeAll(async () => {
  ({ url } = await serviceNode(database));
  const about = { org_name: "Acme", email: "you@example.com", description: "an agent" };
  const made = (await call(url, "POST", "/v1/onboarding/quickstart", { body: about })).json;
  admin = made.api_key;
  other_membrane = (await asAdmin("POST", "/v1/membranes", { name: "other" })).json.membrane.membrane_id;
  // Holds all actions, so that there are reviews to withdraw.
  await asAdmin("PATCH", `/v1/membranes/${made.membrane_id}`, { default_verdict: "escalate" });
  await call(url, "POST", `/v1/membranes/${made.membrane_id}/go-live`, { key: admin });
});

/** Makes a key, submits an action with it, then binds it. */
async function boundKey(role: string, binding: Binding) {
  // Keys of role host must be bound to agents.
  const agents = role === "host" ? { agent_ids: ["bot"] } : {};
  const made = role === "host" ? { role, bindings: agents } : { role };
  const { api_key, key_id } = (await asAdmin("POST", "/v1/api-keys", made)).json;
  const { decision } = (await call(url, "POST", "/v1/intents", { key: api_key, body: submission })).json;
  const bound = await asAdmin("PATCH", `/v1/api-keys/${key_id}`, { bindings: { ...agents, ...bindings()[binding] } });
  expect(bound.status).toBe(200);
  return { api_key, intent_id: decision.intent_id as string, escalation_id: decision.escalation_id as string };
}

const bodies: Readonly<Record<string, object>> = {
  submitIntent: submission,
  submitIntentBatch: { intents: [submission] },
  claimIntent: { nonce: "n".repeat(32) },
  recordObservation: { status: "skipped" },
  withdrawEscalation: { reason: "over" },
};

async function ask(
  id: string,
  { method, path }: Operation,
  key: Awaited<ReturnType<typeof boundKey>>,
  binding: Binding,
) {
  const own = acting.includes(id) ? key : { intent_id: "unknown", escalation_id: "unknown" };
  const named = path
    .replace("{intent_id}", own.intent_id)
    .replace("{escalation_id}", own.escalation_id)
    .replaceAll(/\{\w+\}/g, "unknown");
  const query = binding === "no_shadow" && submitting.includes(id) ? "?mode=shadow" : "";
  const body = bodies[id];
  const { status, json } = await call(url, method, named + query, {
    ...{ key: key.api_key },
    ...(body === undefined ? {} : { body }),
  });
  const refused = status === 403 ? json.error : json?.results?.[0]?.error;
  return refused?.code === "forbidden" ? (refused.details[0].code as string) : "let in";
}

function expected(id: string, { auth }: Operation, role: (typeof roleNames)[number], binding: Binding): string {
  if (binding === "other_network") return "bound";
  if (auth === "session" || !roleMeets(role, auth)) return "not_allowed";
  if (acting.includes(id) && (binding === "other_membrane" || binding === "other_agent")) return "bound";
  if (submitting.includes(id) && binding === "no_shadow") return "bound";
  return id === "rotateApiKey" && role !== "admin" ? "not_allowed" : "let in";
}

test.each(roleNames)(
  "refuses a key of role %s with `bound` in exactly the operations that its binding covers",
  async (role) => {
    for (const binding of Object.keys(bindings()) as Binding[]) {
      const key = await boundKey(role, binding);
      const seen = await sideBySide(guarded, async ([id, operation]) => [id, await ask(id, operation, key, binding)]);
      expect(seen, binding).toEqual(guarded.map(([id, operation]) => [id, expected(id, operation, role, binding)]));
    }
  },
);
