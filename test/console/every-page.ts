/** One or more addresses for every page of the console, with data behind them. */
import type { Page } from "playwright-core";
import type { Look } from "./chromium.ts";
import { api, hostile, intent, lastWeek, type Seeded, seedActivity, seedOrganization, submit } from "./seed.ts";

type As = "key" | "shadow" | "person" | "nobody";

export interface Address {
  readonly name: string;
  readonly path: string;
  readonly as: As;
}

export interface EveryPage {
  /** The addresses of each route of the console's router. */
  readonly by_route: Readonly<Record<string, readonly Address[]>>;
  readonly callers: Readonly<Record<As, Look>>;
}

const policy = (name: string, spec: object) => ({
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name },
  spec,
});

const spendPolicy = policy("daily-spend", {
  match: { actions: ["payment.*"] },
  counters: [{ name: "spent", key: ["agent.id"], value: "params.amount_usd", window: "24h" }],
  when: "count.spent.sum > 5000.0",
  effect: "block",
});

const orderPolicy = policy("held-orders", {
  match: { verbs: ["order"] },
  when: "true",
  effect: "escalate",
  escalation: { grants: { times_max: 5, hours_max: 24 } },
});

const order = (units: number) => ({
  intent: {
    agent: { id: "buyer-bot", session_id: "run-7" },
    action: { type: "other.order", verb: "order", target: { identifier: "acme" } },
    payload: { content: { units } },
  },
});

const pay = (amount_usd: number) => ({
  intent: {
    agent: { id: "invoice-bot", session_id: "run-7" },
    action: { type: "payment.transfer", verb: "pay", target: { identifier: "acc_9" } },
    payload: { content: { amount_usd, to: "Acme" } },
  },
});

/** Adds what `seedActivity` does not create: limits, a grant, agents, a freeze, an override, a webhook. */
async function seedRest(
  url: string,
  seeded: Seeded,
  receiver: string,
): Promise<{ readonly intent_id: string; readonly at: string }> {
  const { admin, agent, operator } = seeded;
  for (const each of [spendPolicy, orderPolicy]) {
    const saved = await api<{ policy: { policy_id: string } }>(url, admin, "POST", "/v1/policies", { policy: each });
    await api(url, admin, "POST", `/v1/policies/${saved.policy.policy_id}/activate`, { mode: "live" });
  }
  for (const amount of [1_200, 2_900, 1_500]) await submit(url, agent, pay(amount));
  const ordered = await submit(url, agent, order(40));
  await api(url, admin, "PUT", "/v1/agents/support-bot", { owner: "Ann", purpose: "Answers customers, pays refunds" });
  await api(url, admin, "PUT", "/v1/agents/buyer-bot", {
    owner: "Bob",
    purpose: "Orders paper",
    parent_id: "support-bot",
  });
  await api(url, admin, "PUT", "/v1/agents/old-bot", { owner: "Ann" });
  await api(url, admin, "POST", "/v1/agents/old-bot/freeze", { mode: "block", reason: "Replaced by support-bot" });
  await api(url, admin, "POST", "/v1/escalations/webhooks", { url: receiver });
  await submit(url, agent, intent("outreach.letter", { pages: 2, note: hostile.hidden }));
  const talkative = { agent: "talkative-bot", summary: "Because the customer asked. ".repeat(100) };
  await submit(url, agent, intent("other.refund", { amount_usd: 777 }, talkative));
  const blocked = await api<{ intents: { intent_id: string }[] }>(
    url,
    operator,
    "GET",
    "/v1/intents?verdict=block&rule=no-bulk-export",
  );
  const overridden = `/v1/intents/${blocked.intents[1]?.intent_id}/override`;
  await api(url, operator, "POST", overridden, { reason: "The auditors asked for it" });
  return { intent_id: ordered.intent_id, at: ordered.decision.timestamp };
}

/** Allows similar orders as a person, because the owner of the agent's key may not. */
async function grant(url: string, session: string, intent_id: string): Promise<void> {
  const response = await fetch(`${url}/v1/grants`, {
    method: "POST",
    headers: { Cookie: session, Origin: url, "Content-Type": "application/json" },
    body: JSON.stringify({
      intent_id,
      scope: { agent_id: "buyer-bot", verb: "order", at_most: [{ path: "/units", value: 50 }] },
      times: 3,
      until: new Date(Date.now() + 6 * 3_600_000).toISOString(),
      reason: "The usual order",
    }),
  });
  if (!response.ok) throw new Error(`the grant: ${await response.text()}`);
}

/** Seeds two organizations: one works, the other one is in shadow. `join` returns the session of an admin with a password. */
export async function seedEveryPage(
  url: string,
  receiver: string,
  join: (admin: string) => Promise<{ readonly session: string }>,
): Promise<EveryPage> {
  const seeded = await seedOrganization(url);
  await seedActivity(url, seeded);
  const { intent_id, at } = await seedRest(url, seeded, receiver);
  const person = await join(seeded.admin);
  await grant(url, person.session, intent_id);
  await submit(url, seeded.agent, order(44));
  await api(url, seeded.admin, "POST", "/v1/auth/invitations", { email: "bob@example.com", role: "reviewer" });
  const watching = await seedOrganization(url);
  for (const amount_usd of [40, 60, 740, 910])
    await submit(url, watching.agent, intent("other.refund", { amount_usd }));
  await submit(url, watching.agent, intent("other.export", { rows: 20_000 }));
  const of = async <T>(path: string, list: string) =>
    (await api<Record<string, T[]>>(url, seeded.admin, "GET", path))[list] ?? [];
  const held = async (agent_id: string) => {
    const query = new URLSearchParams({ status: "pending", agent_id });
    return (await of<{ escalation_id: string }>(`/v1/escalations?${query}`, "escalations"))[0]?.escalation_id;
  };
  const [blocked, overridden] = await of<{ intent_id: string }>(
    "/v1/intents?verdict=block&rule=no-bulk-export",
    "intents",
  );
  const [changed] = await of<{ intent_id: string }>("/v1/intents?verdict=approve_modified", "intents");
  const { backtest } = await api<{ backtest: { backtest_id: string } }>(
    url,
    seeded.admin,
    "POST",
    "/v1/learning/backtest",
    { window: lastWeek(), candidate: { without: ["large-refunds"] }, keep: true },
  );
  const page = (name: string, path: string, as: As = "key"): Address => ({ name, path, as });
  return {
    callers: {
      key: { api_key: seeded.admin },
      shadow: { api_key: watching.admin },
      person: { session: person.session },
      nobody: {},
    },
    by_route: {
      "/": [page("overview", "/"), page("overview-shadow", "/", "shadow")],
      "/review": [page("review", "/review"), page("review-shadow", "/review", "shadow")],
      // Leads to the queue.
      "/escalations": [],
      "/escalations/$escalation_id": [
        page("escalation-hostile", `/escalations/${await held(`bot-${hostile.markup}`)}`),
        page("escalation", `/escalations/${await held("support-bot")}`),
        page("escalation-long", `/escalations/${await held("talkative-bot")}`),
      ],
      "/decisions": [page("decisions", "/decisions")],
      "/decisions/$intent_id": [
        page("decision-blocked", `/decisions/${blocked?.intent_id}`),
        page("decision-overridden", `/decisions/${overridden?.intent_id}`),
        page("decision-changed", `/decisions/${changed?.intent_id}`),
      ],
      "/decisions/$intent_id/print": [page("decision-printed", `/decisions/${overridden?.intent_id}/print`)],
      "/policies": [page("policies", "/policies")],
      "/policies/new": [page("policy-new", "/policies/new")],
      "/policies/$policy_id": [page("policy", `/policies/${seeded.policy_id}`)],
      "/packs": [page("packs", "/packs")],
      "/membranes": [page("membranes", "/membranes"), page("membranes-shadow", "/membranes", "shadow")],
      "/backtest": [page("backtest", "/backtest")],
      "/backtests/$backtest_id": [page("backtest-kept", `/backtests/${backtest.backtest_id}`)],
      "/agents": [page("agents", "/agents")],
      "/agent": [page("agent", "/agent?id=support-bot"), page("agent-frozen", "/agent?id=old-bot")],
      "/run": [page("run", `/run?${new URLSearchParams({ session_id: "run-7", at })}`)],
      "/budgets": [page("budgets", "/budgets")],
      "/overrides": [page("overrides", "/overrides"), page("overrides-none", "/overrides", "shadow")],
      "/grants": [page("grants", "/grants"), page("grants-none", "/grants", "shadow")],
      "/webhooks": [page("webhooks", "/webhooks"), page("webhooks-none", "/webhooks", "shadow")],
      "/channels": [page("channels", "/channels")],
      "/streams": [page("streams", "/streams")],
      "/keys": [page("keys", "/keys")],
      "/people": [page("people", "/people", "person")],
      "/usage": [page("usage", "/usage")],
      "/audit": [page("audit", "/audit")],
      "/settings": [page("settings", "/settings"), page("account", "/settings", "person")],
      "/welcome": [page("welcome", "/welcome", "nobody")],
      "/login": [page("sign-in", "/login", "nobody")],
      "/sso/callback/$org_id": [page("sso-callback", `/sso/callback/${seeded.org_id}?error=access_denied`, "nobody")],
      "/signup": [page("signup", "/signup", "nobody")],
      "/verify-email": [page("verify-email", "/verify-email?token=a", "nobody")],
      "/forgot-password": [page("forgot-password", "/forgot-password", "nobody")],
      "/reset-password": [page("reset-password", "/reset-password?token=a", "nobody")],
      "/unsubscribe": [page("unsubscribe", "/unsubscribe?token=a", "nobody")],
      "/v1/unsubscribe": [page("unsubscribe-by-mail", "/v1/unsubscribe?token=a", "nobody")],
      "/invitation": [page("invitation", "/invitation?token=a", "nobody")],
      "/$": [page("not-found", "/no-such-page")],
    },
  };
}

/** Returns the routes of the console's router that have no address. `page` shows the console. */
export async function forgottenRoutes(page: Page, { by_route }: EveryPage): Promise<string[]> {
  const routes = await page.evaluate<string[]>("Object.keys(__TSR_ROUTER__.routesByPath)");
  return routes.filter((route) => by_route[route] === undefined);
}
