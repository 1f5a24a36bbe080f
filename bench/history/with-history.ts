import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@countersign/sdk";
import { readConfig } from "@countersign/server";
import { openDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { startService } from "../http/service.ts";
import { copyHistory, type Originals } from "./history.ts";

export interface Served {
  readonly url: string;
  readonly api_key: string;
  /** An agent with few and old decisions. */
  readonly agent: string;
}

const rule = (name: string, effect: "block" | "escalate", above_usd: number) => ({
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name },
  spec: {
    match: { actions: ["payment.transfer"] },
    when: `params.amount_usd > ${above_usd}.0`,
    effect,
    message: `Payments above ${above_usd} USD`,
  },
});

/** Submits an action of each verdict to a new organization. */
async function submitOriginals(base_url: string) {
  const anonymous = createClient({ base_url });
  const given = { org_name: "Bench", email: "b@example.com", description: "Long." };
  const { api_key, org_id, membrane_id } = await anonymous.quickstart(given);
  const client = createClient({ base_url, api_key });
  await client.changeMembrane(membrane_id, { packs: [] });
  await client.goLive(membrane_id);
  for (const policy of [rule("large-payments", "escalate", 500), rule("huge-payments", "block", 5_000)]) {
    const { policy_id } = await client.createPolicy({ policy });
    await client.activatePolicy(policy_id, "live");
  }
  const submit = async (verdict: keyof Originals, amount_usd: number) => {
    const target = { type: "iban", identifier: "GB29NWBK60161331926819" };
    const { intent_id, decision } = await client.submitIntent({
      intent: {
        agent: { id: "billing-agent", framework: "langgraph", session_id: "run-1" },
        action: { type: "payment.transfer", verb: "send_money", target },
        payload: {
          summary: "Pay the bill for the car rental of November",
          content: { recipient: "UK12345678901234567890", amount_usd, subject: "Car rental" },
        },
        estimated_impact: { reversible: false, financial_exposure_usd: amount_usd },
      },
    });
    if (decision.verdict !== verdict) throw new Error(`${amount_usd} USD: ${decision.verdict} instead of ${verdict}`);
    return intent_id;
  };
  const originals: Originals = {
    approve: await submit("approve", 98.7),
    escalate: await submit("escalate", 740),
    block: await submit("block", 7_400),
  };
  return { api_key, org_id, originals };
}

/** Starts a service on an organization with many decisions, waits until its figures are complete, and runs `work`. */
export async function withHistory<T>(
  { decisions, directory }: { readonly decisions: number; readonly directory: string },
  work: (served: Served) => Promise<T>,
): Promise<T> {
  const made = mkdtempSync(join(directory, "bench-history-"));
  const data_dir = join(made, "data");
  const order = (log: string) => ({ data_dir, log: join(made, log) });
  try {
    let service = await startService(order("first.log"));
    const { api_key, org_id, originals } = await submitOriginals(service.url);
    await service.stop();
    const quiet = () => undefined;
    const log = {
      debug: quiet,
      info: quiet,
      warn: quiet,
      error: (fields: object, text: string) => console.error(text, fields),
    };
    const instance = await openDatabase(readConfig({ COUNTERSIGN_DATA_DIR: data_dir, PATH: process.env["PATH"] }), log);
    const { agent } = await copyHistory(instance, { org_id, originals }, decisions, (done) =>
      console.error(`${done.toLocaleString("en-US")} of ${decisions.toLocaleString("en-US")} decisions are written`),
    );
    await instance.close();
    service = await startService(order("second.log"));
    try {
      const client = createClient({ base_url: service.url, api_key });
      console.error("the reconciler counts …");
      while (!(await client.getOverview({})).complete) await sleep(500);
      return await work({ url: service.url, api_key, agent });
    } finally {
      await service.stop();
    }
  } finally {
    rmSync(made, { recursive: true, force: true, maxRetries: 5 });
  }
}
