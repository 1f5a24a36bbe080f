/** An organization whose default membrane is live and has no packs. */
import type { Role } from "@countersign/contract";
import type { Database } from "../../store/database/db.ts";
import { call, testOrganization } from "../nodes/http-node.ts";

export async function liveMembrane(db: Database, url: string) {
  const org = await testOrganization(db);
  const { api_key: admin } = await org.key();
  const ask = (method: string, path: string, body?: unknown, key = admin) =>
    call(url, method, `/v1${path}`, { key, ...(body === undefined ? {} : { body }) });
  const [{ membrane_id }] = (await ask("GET", "/membranes")).json.membranes;
  await ask("POST", `/membranes/${membrane_id}/go-live`);
  return {
    org,
    admin,
    ask,
    membrane_id: membrane_id as string,
    key: async (role: Role, agent_id?: string): Promise<string> =>
      (await org.key({ role, ...(agent_id === undefined ? {} : { scope: "agent", agent_id }) })).api_key,
    membrane: (change: object) => ask("PATCH", `/membranes/${membrane_id}`, change),
    async rule(name: string, spec: object) {
      const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name, title: name }, spec };
      const { policy_id } = (await ask("POST", "/policies", { policy })).json.policy;
      await ask("POST", `/policies/${policy_id}/activate`, { mode: "live" });
    },
    async submit(key: string, facts?: object, intent: object = {}) {
      const context = facts === undefined ? {} : { context: { contract_version: "1", facts } };
      const whole = { agent: { id: "a1" }, action: { verb: "pay" }, payload: { content: { amount: 500 } }, ...intent };
      return (await ask("POST", "/intents", { intent: whole, ...context }, key)).json;
    },
    store: (path: string, facts: object) => ask("PUT", `/context/${path}`, { contract_version: "1", facts }),
  };
}
