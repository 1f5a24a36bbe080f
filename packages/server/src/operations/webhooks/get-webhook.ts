import { Fault } from "@countersign/core";
import { readWebhook, type StoredWebhook } from "../../store/webhooks/webhooks.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

export async function getWebhook(
  runtime: Pick<Runtime, "db">,
  caller: Pick<Caller, "org_id">,
  webhook_id: string,
): Promise<StoredWebhook> {
  const webhook = await runtime.db.tenant(caller.org_id, (query) => readWebhook(query, caller.org_id, webhook_id));
  if (webhook === undefined) throw new Fault("not_found");
  return webhook;
}
