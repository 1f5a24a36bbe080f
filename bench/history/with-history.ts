import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@countersign/sdk";
import { readConfig } from "@countersign/server";
import { openDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { startService } from "../http/service.ts";
import { copyHistory } from "./history.ts";

export interface Served {
  readonly url: string;
  readonly api_key: string;
  /** An agent with few and old decisions. */
  readonly agent: string;
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
    const anonymous = createClient({ base_url: service.url });
    const { api_key, org_id } = await anonymous.quickstart({
      org_name: "Bench",
      email: "b@example.com",
      description: "Long.",
    });
    await service.stop();
    const quiet = () => undefined;
    const log = {
      debug: quiet,
      info: quiet,
      warn: quiet,
      error: (fields: object, text: string) => console.error(text, fields),
    };
    const instance = await openDatabase(readConfig({ COUNTERSIGN_DATA_DIR: data_dir, PATH: process.env["PATH"] }), log);
    const { agent } = await copyHistory(instance, org_id, decisions, (done) =>
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
