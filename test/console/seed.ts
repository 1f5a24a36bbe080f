/**
 * Seeds data for every page through the public API. Exception: in the API, keys made by one key belong to one person,
 * and the seeds need several people.
 */
import type { TestDatabase } from "../../packages/server/src/testing/database/database.ts";

const databases = new Map<string, TestDatabase["db"]>();

/** From now on, each key seeded on this service is a separate person. */
export function seedSeveralPeople(base_url: string, db: TestDatabase["db"]): void {
  databases.set(base_url, db);
}

export async function api<T = Record<string, never>>(
  base_url: string,
  api_key: string | null,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  const response = await fetch(base_url + path, {
    method,
    headers: {
      ...(api_key === null ? {} : { "X-API-Key": api_key }),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return (text === "" ? null : JSON.parse(text)) as T;
}

/** Terminal escapes, markup, a link, and characters that reorder or hide text. */
export const hostile = {
  markup: '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>',
  link: "[click](javascript:alert(1)) https://evil.example/",
  reversed: "invoice\u202Egpj.exe",
  hidden: "pay\u200Bpal\u00AD\u{E0041}",
  terminal: "\u001b[31mred\u001b[0m",
  tower: "z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307",
} as const;

export const refundPolicy = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: {
    name: "large-refunds",
    title: "Refunds above 500 USD wait for a person",
    citations: ["Refund policy 4.2"],
  },
  spec: {
    match: { actions: ["other.refund"] },
    when: "params.amount_usd > 500.0",
    effect: "escalate",
    risk: { add: 0.4, group: "amount" },
    message: "The refund of {{params.amount_usd}} USD is above 500 USD",
  },
};

const exportPolicy = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "no-bulk-export", title: "No bulk export of customers" },
  spec: {
    match: { actions: ["other.export"] },
    when: "params.rows > 1000.0",
    effect: "block",
    risk: { add: 0.8, group: "volume" },
    message: "{{params.rows}} rows are more than 1,000",
  },
};

const maskPolicy = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "cap-discounts", title: "Discounts are capped at 20 %" },
  spec: {
    match: { actions: ["other.discount"] },
    when: "params.percent > 20.0",
    effect: "approve_modified",
    risk: { add: 0.1, group: "amount" },
    modify: [{ op: "cap", path: "/percent", value: "20.0" }],
    message: "A discount of {{params.percent}} % is cut to 20 %",
  },
};

export function intent(
  type: string,
  content: object,
  more: { agent?: string; target?: string; summary?: string } = {},
) {
  return {
    intent: {
      agent: { id: more.agent ?? "support-bot", framework: "langgraph" },
      action: {
        type,
        verb: `tool_${type.split(".")[1]}`,
        target: { type: "customer", identifier: more.target ?? "cus_1042" },
      },
      payload: { summary: more.summary ?? "As the customer asked", content },
      estimated_impact: { reversible: false, financial_exposure_usd: 740 },
    },
    context: {
      contract_version: "1",
      facts: {
        security: { active_security_incident: false, prompt_injection_detected: false },
        entity_state: { account_status: "active" },
      },
    },
  };
}

export interface Seeded {
  readonly org_id: string;
  readonly membrane_id: string;
  readonly admin: string;
  readonly operator: string;
  readonly reviewer: string;
  readonly auditor: string;
  readonly agent: string;
  readonly policy_id: string;
}

interface Answer {
  readonly intent_id: string;
  readonly decision: { readonly escalation_id: string | null; readonly verdict: string; readonly timestamp: string };
}

export function submit(base_url: string, api_key: string, body: object): Promise<Answer> {
  return api<Answer>(base_url, api_key, "POST", "/v1/intents", body);
}

/** Creates an organization with a key for every role and three live policies, in shadow mode. */
export async function seedOrganization(base_url: string): Promise<Seeded> {
  const made = await api<{ api_key: string; org_id: string; membrane_id: string }>(
    base_url,
    null,
    "POST",
    "/v1/onboarding/quickstart",
    { org_name: "Harbour Goods", email: "ann@example.com", description: "answers customers" },
  );
  const admin = made.api_key;
  const key = async (role: string) =>
    (await api<{ api_key: string }>(base_url, admin, "POST", "/v1/api-keys", { role, name: `${role} key` })).api_key;
  const [operator, reviewer, auditor, agent] = [
    await key("operator"),
    await key("reviewer"),
    await key("auditor"),
    await key("agent"),
  ];
  await api(base_url, admin, "PATCH", `/v1/membranes/${made.membrane_id}`, { packs: [] });
  let policy_id = "";
  for (const policy of [exportPolicy, maskPolicy, refundPolicy]) {
    const saved = await api<{ policy: { policy_id: string } }>(base_url, admin, "POST", "/v1/policies", { policy });
    policy_id = saved.policy.policy_id;
    await api(base_url, admin, "POST", `/v1/policies/${policy_id}/activate`, { mode: "live" });
  }
  const db = databases.get(base_url);
  await db?.query("update api_keys set person = lineage_id where org_id = $1", [made.org_id]);
  await db?.query("update organizations set solo_ended_at = now() where org_id = $1", [made.org_id]);
  return { ...made, admin, operator, reviewer, auditor, agent, policy_id };
}

export async function seedLive(base_url: string): Promise<Seeded> {
  const seeded = await seedOrganization(base_url);
  await api(base_url, seeded.admin, "POST", `/v1/membranes/${seeded.membrane_id}/go-live`);
  return seeded;
}

/** Creates an organization with this many refunds in review, each of its own agent: `bot-0`, `bot-1` … */
export async function seedQueue(base_url: string, cases: number): Promise<Seeded> {
  const seeded = await seedLive(base_url);
  for (let n = 0; n < cases; n += 1)
    await submit(base_url, seeded.agent, intent("other.refund", { amount_usd: 900 }, { agent: `bot-${n}` }));
  return seeded;
}

export async function seedActivity(base_url: string, seeded: Seeded): Promise<void> {
  const { admin, agent, membrane_id } = seeded;
  for (let count = 0; count < 6; count += 1)
    await submit(base_url, agent, intent("other.refund", { amount_usd: 40 + count * 300, currency: "USD" }));
  await api(base_url, admin, "POST", `/v1/membranes/${membrane_id}/go-live`);
  for (let count = 0; count < 9; count += 1)
    await submit(base_url, agent, intent("other.refund", { amount_usd: 20 + count, currency: "USD" }));
  for (const amount_usd of [740, 760, 910])
    await submit(
      base_url,
      agent,
      intent(
        "other.refund",
        { amount_usd, currency: "USD", order: { id: "ord_77", lines: [1, 2] } },
        { target: `cus_${amount_usd}` },
      ),
    );
  for (const rows of [20_000, 4_000])
    await submit(base_url, agent, intent("other.export", { rows, table: "customers" }));
  await submit(base_url, agent, intent("other.discount", { percent: 55, code: "HELLO" }));
  await submit(
    base_url,
    agent,
    intent(
      "other.refund",
      { amount_usd: 1_900, note: hostile.markup, file: hostile.reversed, [hostile.hidden]: hostile.terminal },
      {
        agent: `bot-${hostile.markup}`,
        target: hostile.reversed,
        summary: `${hostile.link}\n${hostile.tower} ${hostile.terminal}`,
      },
    ),
  );
}

/** The window of a backtest. */
export function lastWeek(): { readonly from: string; readonly to: string } {
  const to_ms = Date.now() + 60_000;
  return { from: new Date(to_ms - 8 * 86_400_000).toISOString(), to: new Date(to_ms).toISOString() };
}
