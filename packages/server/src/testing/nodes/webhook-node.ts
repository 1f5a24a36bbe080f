/** Names lead to loopback, and the node trusts the test's authority. */
import { limits } from "@countersign/contract";
import { networkList } from "@countersign/core";
import { createHttpOut } from "../../edge/outgoing/http-out.ts";
import { standardTerms } from "../../worker/deliveries/delivery-terms.ts";
import type { TestDatabase } from "../database/database.ts";
import { testCertificates } from "../network/certificates.ts";
import { resolveToLoopback } from "../network/receiver.ts";
import { whenFileIsDone } from "../when-file-is-done.ts";
import { call, testOrganization } from "./http-node.ts";
import { serviceNode } from "./service-node.ts";

/** Instead of 5 s and 25 s. */
export const quick_terms = { ...standardTerms, waits_ms: [50, 50] };

/** Attempts end after the contract's 10 s, unless a test waits for one that hangs. */
export async function webhookNode(
  database: TestDatabase,
  {
    timeout_ms = limits.delivery_attempt_timeout_ms,
    ...parts
  }: Parameters<typeof serviceNode>[1] & { readonly timeout_ms?: number } = {},
) {
  const httpOut = createHttpOut({
    rules: { allow_http: false, allow_networks: networkList(["127.0.0.0/8"]) },
    resolve: resolveToLoopback,
    ca: testCertificates().ca,
    timeout_ms,
  });
  whenFileIsDone(() => httpOut.close());
  return serviceNode(database, { httpOut, deliveryTerms: quick_terms, ...parts });
}

const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email" } };

export async function webhookOrganization({ db }: TestDatabase, url: string) {
  const org = await testOrganization(db);
  const { api_key, key_id } = await org.key();
  const api = (method: string, path: string, body?: unknown, key = api_key, headers: Record<string, string> = {}) =>
    call(url, method, `/v1/escalations/webhooks${path}`, { key, headers, ...(body === undefined ? {} : { body }) });
  return {
    ...org,
    api_key,
    key_id,
    api,
    async register(receiver_url: string, more: object = {}) {
      const { status, json } = await api("POST", "", { url: receiver_url, ...more });
      if (status !== 201) throw new Error(JSON.stringify(json));
      return json.webhook as { id: string; secret: string };
    },
    async submit(): Promise<string> {
      const { json } = await call(url, "POST", "/v1/intents", { key: api_key, body: { intent } });
      return json.intent_id;
    },
    async failed() {
      return (await api("GET", "/deliveries/failed")).json.deliveries;
    },
    async deliveries() {
      return db.query<{ delivery_id: string; status: string; attempts: number; webhook_id: string }>(
        "select delivery_id, status, attempts, webhook_id from deliveries where org_id = $1 order by delivery_id",
        [org.org_id],
      );
    },
    async audit(intent_id: string) {
      const { json } = await call(url, "GET", `/v1/intents/${intent_id}/audit`, { key: api_key });
      return json;
    },
  };
}
