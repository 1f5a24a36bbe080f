import { type ContextSource, limits } from "@countersign/contract";
import { networkList } from "@countersign/core";
import { createHttpOut, type HttpOutOptions } from "../../edge/outgoing/http-out.ts";
import { timers } from "../../edge/timers.ts";
import type { HttpOut } from "../../ports.ts";
import type { TestDatabase } from "../database/database.ts";
import { call } from "../nodes/http-node.ts";
import { serviceNode } from "../nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../people/review.ts";
import { whenFileIsDone } from "../when-file-is-done.ts";
import { testCertificates } from "./certificates.ts";
import { type AnswerWith, type Receiver, resolveToLoopback } from "./receiver.ts";

/** Open queries on all nodes of the file. */
export const open = { now: 0, most: 0 };

/** For a source that never answers. No other timer has this length, so only the query times out. */
export const short_ms = 211;
/** So that a busy machine does not look like a slow source. */
const patient_ms = 30_000;
const timeLimits: ReadonlySet<number> = new Set([limits.context_source_timeout_ms_max, short_ms]);
/** Sources registered with `short_ms`. */
const cutOff = new Set<string>();

export async function sourceNode(
  database: TestDatabase,
  options: Partial<HttpOutOptions> = {},
  parts: Parameters<typeof serviceNode>[1] = {},
) {
  const rules = { allow_http: false, allow_networks: networkList(["127.0.0.0/8"]) };
  const guarded = createHttpOut({ rules, resolve: resolveToLoopback, ca: testCertificates().ca, ...options });
  whenFileIsDone(() => guarded.close());
  const httpOut: HttpOut = {
    ...guarded,
    async ask(to, headers, body, terms) {
      open.most = Math.max(open.most, ++open.now);
      const timeout_ms = cutOff.has(to) ? short_ms : patient_ms;
      return guarded.ask(to, headers, body, { ...terms, timeout_ms }).finally(() => (open.now -= 1));
    },
  };
  return serviceNode(database, {
    httpOut,
    timers: { after: (wait_ms, run) => timers.after(timeLimits.has(wait_ms) ? patient_ms : wait_ms, run) },
    ...parts,
  });
}

export const facts = (security: object, more: object = {}) =>
  JSON.stringify({ contract_version: "1", facts: { security }, ...more });
export const json =
  (text: string, headers: Record<string, string> = {}): AnswerWith =>
  (response) =>
    response.writeHead(200, { "content-type": "application/json", ...headers }).end(text);
export const intent = {
  agent: { id: "agent-1" },
  action: { type: "communication.email", verb: "send_email", target: { type: "person", identifier: "ann" } },
  payload: { content: { text: "hello" } },
};

/** Blocks on an alarm, and escalates if the alarm is unknown. */
const clean = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "no-injection", title: "No prompt injection" },
  spec: {
    match: { actions: ["communication.email"] },
    require: "facts.security.prompt_injection_detected == false",
    effect: "block",
    on_unknown: "escalate",
  },
};

export async function pulling({ db }: TestDatabase, base: string) {
  const org = await reviewedOrganization(db, base);
  const post = (path: string, body: object) => call(base, "POST", path, { key: org.admin, body });
  const saved = await post("/v1/policies", { policy: clean });
  const active = await post(`/v1/policies/${saved.json.policy?.policy_id}/activate`, { mode: "live" });
  if (active.status !== 200) throw new Error(active.text);
  const source = (method: string, body?: unknown, key = org.admin, at = base) =>
    call(at, method, "/v1/context/source", { key, ...(body === undefined ? {} : { body }) });
  return {
    ...org,
    source,
    async register(to: Receiver | string, timeout_ms?: number): Promise<ContextSource> {
      const body = { url: typeof to === "string" ? to : to.url, ...(timeout_ms === undefined ? {} : { timeout_ms }) };
      const put = await source("PUT", body);
      if (put.status !== 200) throw new Error(put.text);
      const registered: ContextSource = put.json.source;
      if (timeout_ms === short_ms) cutOff.add(registered.url);
      return registered;
    },
    submit: (more: object = {}, at = base, headers = {}) =>
      call(at, "POST", "/v1/intents", { key: org.agent, headers, body: { intent, ...more } }),
  };
}
/** Security facts, and the reasons of missing ones. */
export async function outcome(org: Reviewed, made: { json: { intent_id: string; decision: unknown } }, at: string) {
  const { intent_id } = made.json;
  const read = await call(at, "GET", `/v1/intents/${intent_id}`, { key: org.admin });
  const audit = await call(at, "GET", `/v1/intents/${intent_id}/audit`, { key: org.admin });
  const decided = audit.json.audit.find((row: { type: string }) => row.type === "decided");
  const { reasons } = made.json.decision as { reasons: { unknown_facts: { path: string; reason: string }[] }[] };
  return {
    security: read.json.facts.security,
    recorded: decided.data.context_source,
    unknown: reasons.flatMap((reason) => reason.unknown_facts),
  };
}
export const missing = "facts.security.prompt_injection_detected";
