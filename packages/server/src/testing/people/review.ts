import { createClock } from "../../edge/clock.ts";
import type { Database } from "../../store/database/db.ts";
import { call, type TestOrganization, testOrganization } from "../nodes/http-node.ts";

/** No key was created by another one, so each is a different person. */
export interface Reviewed {
  readonly org: TestOrganization;
  readonly membrane_id: string;
  readonly admin: string;
  readonly agent: string;
  readonly operator: string;
  readonly reviewer: string;
}

/** `settings` are the membrane's. */
export async function reviewedOrganization(db: Database, url: string, settings: object = {}): Promise<Reviewed> {
  const org = await testOrganization(db, createClock());
  const key = async (role: "admin" | "agent" | "operator" | "reviewer") => (await org.key({ role })).api_key;
  const [admin, agent, operator, reviewer] = await Promise.all([
    key("admin"),
    key("agent"),
    key("operator"),
    key("reviewer"),
  ]);
  const { membranes } = (await call(url, "GET", "/v1/membranes", { key: admin })).json;
  const membrane_id: string = membranes[0].membrane_id;
  await call(url, "POST", `/v1/membranes/${membrane_id}/go-live`, { key: admin });
  const changed = await call(url, "PATCH", `/v1/membranes/${membrane_id}`, { key: admin, body: settings });
  if (changed.status !== 200) throw new Error(changed.text);
  return { org, membrane_id, admin, agent, operator, reviewer };
}

export async function activatePayPolicy(
  url: string,
  { admin }: Reviewed,
  name: string,
  { when, escalation, effect = "escalate" }: { when: string; escalation: object; effect?: "escalate" | "block" },
): Promise<void> {
  const spec = { match: { verbs: ["pay"] }, when, effect, escalation };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
  const created = await call(url, "POST", "/v1/policies", { key: admin, body: { policy } });
  const path = `/v1/policies/${created.json.policy.policy_id}/activate`;
  const activated = await call(url, "POST", path, { key: admin, body: { mode: "live" } });
  if (activated.status !== 200) throw new Error(activated.text);
}

/** Escalated by the pack `security`. */
export const heldBody = {
  intent: {
    agent: { id: "agent-1" },
    action: { type: "system.deploy", verb: "ship", target: { type: "service", identifier: "shop" } },
    payload: { summary: "Ship the shop", content: { version: 4, replicas: 2 } },
  },
  context: {
    contract_version: "1",
    facts: { security: { active_security_incident: true, prompt_injection_detected: false } },
  },
};

/** Blocked by the pack `security`. */
export const blockedBody = {
  intent: {
    agent: { id: "agent-1" },
    action: { type: "communication.email", verb: "send_email", target: { type: "person", identifier: "ann" } },
    payload: { summary: "Write to Ann", content: { text: "hello", copies: 2 } },
  },
  context: { contract_version: "1", facts: { security: { prompt_injection_detected: true } } },
};

/** Moves the deadline to `interval` from now. */
export async function deadlineIn(db: Database, escalation_ids: readonly string[], interval: string): Promise<void> {
  await db.system((query) =>
    query(
      `update escalations e set expires_at = d.at, record = (record::jsonb || jsonb_build_object('expires_at',
         to_char(d.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::json
       from (select statement_timestamp() + $2::interval as at) as d where escalation_id = any($1)`,
      [escalation_ids, interval],
    ),
  );
}
