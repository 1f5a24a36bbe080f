import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Client } from "../../packages/sdk/src/index.ts";

const folder = join(import.meta.dirname, "../../examples/policies");

/** Activates the policies of the examples: block above 1000 USD, escalate above 100 USD, and the petty cash gets 50 USD at most. */
export async function activatePaymentPolicies(admin: Client): Promise<void> {
  for (const name of readdirSync(folder)) {
    const policy = parse(readFileSync(join(folder, name), "utf8"));
    await admin.activatePolicy((await admin.createPolicy({ policy })).policy_id, "live");
  }
}
