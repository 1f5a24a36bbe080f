/** Organizations whose policies limit what an agent spends. */
import type { Database } from "../../store/database/db.ts";
import { call } from "../nodes/http-node.ts";
import { type Reviewed, reviewedOrganization } from "./review.ts";

/** Counts the payments of each agent in 24 hours as `count.spent`. */
export const spentByAgent = {
  match: { actions: ["payment.*"] },
  counters: [{ name: "spent", key: ["agent.id"], value: "params.amount", window: "24h" }],
};

/** Creates an organization without packs. `specs`: of its live policies, by name. */
export async function limitedOrganization(
  db: Database,
  url: string,
  specs: Readonly<Record<string, object>>,
): Promise<Reviewed> {
  const org = await reviewedOrganization(db, url, { packs: [] });
  for (const [name, spec] of Object.entries(specs)) {
    const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
    const created = await call(url, "POST", "/v1/policies", { key: org.admin, body: { policy } });
    if (created.status !== 201) throw new Error(created.text);
    const path = `/v1/policies/${created.json.policy.policy_id}/activate`;
    const activated = await call(url, "POST", path, { key: org.admin, body: { mode: "live" } });
    if (activated.status !== 200) throw new Error(activated.text);
  }
  return org;
}

export function payment(amount: number, agent = "invoice-bot") {
  return {
    intent: {
      agent: { id: agent },
      action: { type: "payment.transfer", verb: "pay" },
      payload: { content: { amount } },
    },
  };
}

/** Returns the number and the sum that the service shows for one agent; null: the agent has no key. */
export async function shownSpent(
  url: string,
  { admin }: Reviewed,
  agent = "invoice-bot",
  mode = "live",
): Promise<{ readonly n: number; readonly sum: number; readonly waiting_sum: number } | null> {
  const path = `/v1/counters?name=spent&agent_id=${agent}&mode=${mode}`;
  const { counters } = (await call(url, "GET", path, { key: admin })).json;
  if (counters.length === 0) return null;
  const [{ n, sum, waiting_sum }] = counters;
  return { n, sum, waiting_sum };
}
