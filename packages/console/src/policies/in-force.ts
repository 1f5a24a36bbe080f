import { limits, type Policy } from "@countersign/contract";
import type { Client } from "@countersign/sdk";

/** Returns null if no version is live. */
export async function documentInForce(client: Client, policy_id: string): Promise<Policy["document"] | null> {
  const { status, version, active_version, document } = await client.getPolicy(policy_id);
  if (status !== "live") return null;
  if (active_version === version) return document;
  for (let cursor: string | undefined; ; ) {
    const query = { limit: limits.list_limit_max, ...(cursor === undefined ? {} : { cursor }) };
    const { versions, next_cursor } = await client.listPolicyVersions(policy_id, query);
    const active = versions.find((each) => each.version === active_version);
    if (active !== undefined || next_cursor === null) return active?.document ?? null;
    cursor = next_cursor;
  }
}
