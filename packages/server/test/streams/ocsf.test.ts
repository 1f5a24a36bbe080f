/** A recorded history as OCSF: each event is valid under the published schema. */
import { readFileSync } from "node:fs";
import { auditTypes } from "@countersign/contract";
import { networkList, ocsfEvent } from "@countersign/core";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, expect, test } from "vitest";
import { createHttpOut } from "../../src/edge/outgoing/http-out.ts";
import { readLines } from "../../src/operations/streams/stream-lines.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import {
  activatePayPolicy,
  blockedBody,
  heldBody,
  type Reviewed,
  reviewedOrganization,
} from "../../src/testing/people/review.ts";
import { whenFileIsDone } from "../../src/testing/when-file-is-done.ts";

const file = new URL("../../../../test/data/ocsf/api-activity-1.8.0.schema.json", import.meta.url);
const validate = new Ajv2020({ allErrors: true, strict: false }).compile(JSON.parse(readFileSync(file, "utf8")));

const database = await testDatabase();
const { db } = database;
const httpOut = createHttpOut({ rules: { allow_http: true, allow_networks: networkList(["127.0.0.0/8"]) } });
whenFileIsDone(() => httpOut.close());
let org: Reviewed;
let events: Event[];

type Event = Record<string, unknown> & {
  readonly metadata: { readonly event_code: string; readonly sequence: number; readonly correlation_uid?: string };
};

function problemsOf(event: unknown): string[] {
  if (validate(event)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** Decisions of each verdict and mode, rulings, overrides, claims, reports, freezes and changes of settings. */
beforeAll(async () => {
  const { url } = await serviceNode(database, { httpOut });
  org = await reviewedOrganization(db, url);
  const send = async (method: string, path: string, key: string, body?: unknown) => {
    const answer = await call(url, method, path, { key, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.json;
  };
  await activatePayPolicy(url, org, "large", { when: "params.amount > 10.0", escalation: {} });
  const modify = [{ op: "redact", path: "/iban" }];
  const hides = { match: { verbs: ["send"] }, when: "true", effect: "approve_modified", modify };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "hides" }, spec: hides };
  const saved = await send("POST", "/v1/policies", org.admin, { policy });
  await send("POST", `/v1/policies/${saved.policy.policy_id}/activate`, org.admin, { mode: "live" });
  const context = {
    contract_version: "1",
    facts: { security: { active_security_incident: false, prompt_injection_detected: false } },
  };
  const submit = async (verb: string, content: object, agent: object = { id: "agent-1" }, type = "payment.transfer") =>
    (
      await send("POST", "/v1/intents", org.agent, {
        intent: { agent, action: { type, verb }, payload: { content } },
        context,
      })
    ).decision;
  await submit(
    "pay",
    { amount: 1 },
    { id: "agent-1", session_id: "run-1", on_behalf_of: "jane", framework: "langgraph" },
  );
  await submit("look", {}, { id: "unnamed" }, "record.read");
  await submit("send", { iban: "DE89370400440532013000" });
  const held = await submit("pay", { amount: 50 });
  await send("POST", `/v1/escalations/${held.escalation_id}/decision`, org.reviewer, {
    outcome: "approve",
    comment: "ok",
  });
  await send("POST", `/v1/intents/${held.intent_id}/claim`, org.agent, { nonce: "a".repeat(32) });
  await send("POST", `/v1/intents/${held.intent_id}/observations`, org.agent, { status: "executed" });
  const incident = (await send("POST", "/v1/intents", org.agent, heldBody)).decision;
  await send("POST", `/v1/escalations/${incident.escalation_id}/decision`, org.reviewer, {
    outcome: "block",
    comment: "no",
  });
  await send("POST", `/v1/intents/${incident.intent_id}/observations`, org.agent, { status: "executed" });
  const blocked = (await send("POST", "/v1/intents", org.agent, blockedBody)).decision;
  await send("POST", `/v1/intents/${blocked.intent_id}/override`, org.operator, { reason: "known" });
  await send("POST", `/v1/intents/${blocked.intent_id}/override`, org.admin, { reason: "known, too" });
  await send("POST", "/v1/intents", org.agent, blockedBody);
  await send("POST", "/v1/agents/agent-9/freeze", org.operator, { mode: "block", reason: "strange" });
  await send("POST", `/v1/membranes/${org.membrane_id}/return-to-shadow`, org.admin, { reason: "a test" });
  await send("POST", "/v1/intents", org.agent, blockedBody);
  const created = await send("POST", "/v1/api-keys", org.admin, { role: "agent", name: "bot" });
  await send("DELETE", `/v1/api-keys/${created.key_id}`, org.admin);
  await send("DELETE", `/v1/intents/${held.intent_id}/content`, org.admin);
  const { org_id } = org.org;
  const range = { after: 0, to: Number.MAX_SAFE_INTEGER, hour: null };
  const { entries } = await db.tenant(org_id, (query) => readLines(query, org_id, "ocsf", { ...range }));
  events = entries.map(({ text }) => JSON.parse(text) as Event);
}, 120_000);

test("each event of the history is valid", () => {
  expect(events.length).toBeGreaterThan(25);
  for (const event of events) expect(problemsOf(event), JSON.stringify(event)).toEqual([]);
  const kinds = new Set(events.map(({ metadata }) => metadata.event_code));
  for (const kind of [
    "decided",
    "reviewed",
    "overridden",
    "claimed",
    "observed",
    "contradicted",
    "frozen",
    "key_revoked",
    "content_erased",
  ])
    expect(kinds).toContain(kind);
});

test("the schema refuses what the class does not have", () => {
  const [event] = events;
  const { src_endpoint: _, ...without } = event as Event;
  expect(problemsOf(without)).not.toEqual([]);
  expect(problemsOf({ ...event, verdict: "approve" })).not.toEqual([]);
  expect(problemsOf({ ...event, action_id: 5 })).not.toEqual([]);
  expect(problemsOf({ ...event, actor: {} })).not.toEqual([]);
});

test("an event says what a SIEM needs of a decision", () => {
  const decided = events.filter(({ metadata }) => metadata.event_code === "decided");
  expect(decided[0]).toMatchObject({
    ...{ class_uid: 6003, type_uid: 600_399, activity_name: "payment.transfer", status: "Success", action: "Allowed" },
    actor: { app_name: "agent-1", invoked_by: "jane", session: { uid: "run-1" }, user: { type: "Service" } },
    api: { operation: "pay", service: { name: "Countersign" } },
    message_context: { ai_role: "Agent", application: { name: "agent-1", type: "langgraph" } },
    metadata: {
      version: "1.8.0",
      profiles: ["datetime", "security_control", "ai_operation"],
      tenant_uid: org.org.org_id,
    },
  });
  const found = decided.map(({ action, disposition, severity, activity_name }) => [
    activity_name,
    action,
    disposition,
    severity,
  ]);
  expect(found).toEqual([
    ["payment.transfer", "Allowed", "Allowed", "Informational"],
    ["Read", "Allowed", "Allowed", "Informational"],
    ["payment.transfer", "Modified", "Corrected", "Informational"],
    ["payment.transfer", "Held for review", "Delayed", "Low"],
    ["system.deploy", "Held for review", "Delayed", "Low"],
    ["communication.email", "Denied", "Blocked", "Medium"],
    ["communication.email", "Allowed", "Allowed", "Informational"],
    ["communication.email", "Observed", "Logged", "Low"],
  ]);
  expect(JSON.stringify(events)).not.toContain("DE89370400440532013000");
});

test("a record of each type is valid, also with data of another form", () => {
  const base = {
    ...{
      audit_id: "aud_1",
      seq: 1,
      at: "2026-11-30T10:00:00.123456Z",
      intent_id: null,
      entry: 0,
      hash: "0".repeat(64),
    },
    ...{ leaf: "{}", salt: null, root: null, data: { some_id: "wh_1", list: [null, { a: 1 }] } },
  };
  for (const type of Object.keys(auditTypes) as (keyof typeof auditTypes)[])
    for (const actor of [
      { type: "system", id: null },
      { type: "system", id: "open_mode" },
      { type: "key", id: "key_1" },
      { type: "user", id: "usr_1" },
    ] as const) {
      const event = ocsfEvent({ ...base, type, actor }, null, { org_id: "org_1", unnamed_agent_id: "unnamed" });
      expect(problemsOf(event), type).toEqual([]);
    }
});
