/** Source: decision 0035. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";
import { listen } from "../../src/testing/people/told.ts";

const database = await testDatabase();
const { db } = database;
const { url } = await serviceNode(database);
let org: Reviewed;
let admin: string;

const post = (path: string, key: string, body: unknown) => call(url, "POST", path, { key, body });
const get = (path: string, key: string) => call(url, "GET", path, { key });

async function save(name: string, spec: object) {
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec: { when: "true", ...spec } };
  return post("/v1/policies", admin, { policy });
}

async function activate(name: string, spec: object) {
  const saved = await save(name, spec);
  expect(saved.text).toContain('"policy_id"');
  await post(`/v1/policies/${saved.json.policy.policy_id}/activate`, admin, { mode: "live" });
}

beforeAll(async () => {
  org = await reviewedOrganization(db, url, {
    escalation: { timeout_seconds: 600, on_timeout: "block", reviewers: [], quorum: 2 },
  });
  admin = (await org.org.key()).api_key;
  const modify = [{ op: "mask", path: "/items/*/ssn" }];
  await activate("hide", {
    match: { verbs: ["share"] },
    effect: "escalate",
    modify,
    message: "{{params}} {{target.identifier}}",
  });
  const redact = [{ op: "redact", path: "/items/*/ssn" }];
  await activate("redact-all", { match: { verbs: ["redact"] }, effect: "approve_modified", modify: redact });
  await activate("mask-only", { match: { verbs: ["mask"] }, effect: "approve_modified", modify });
  const copy = [{ op: "set", path: "/copied", value: "params.items[0].ssn" }];
  await activate("copy", { match: { verbs: ["share"] }, effect: "approve_modified", modify: copy });
  await listen(db, org.org.org_id);
});

const [ssn, other, token] = ["123-45-6789", "987-65-4321", "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4"];
const secrets = [ssn, other, token, "hunter2!", "s3cr"];
const content = {
  items: [
    { id: 1, ssn },
    { id: 2, ssn: other },
  ],
  password: "hunter2!",
  note: `of ${ssn}, with ${token}`,
};
const masked = {
  items: [
    { id: 1, ssn: "[masked]" },
    { id: 2, ssn: "[masked]" },
  ],
  password: "[masked]",
  note: "of [masked], with [masked]",
};

async function submit(verb = "share") {
  const quoted = `for ${ssn} by ${token} hunter2!`;
  const intent = {
    agent: { id: "a", session_id: `s ${ssn}` },
    action: { type: "other.form", verb, target: { identifier: quoted } },
    payload: { summary: quoted, content },
  };
  const { json } = await post("/v1/intents", org.agent, { intent });
  return { ...json, path: `/v1/escalations/${json.decision.escalation_id}` };
}

test("people, records, events, mails and the audit trail get masks; the agent gets the executed values", async () => {
  const { intent_id, path, decision } = await submit();
  expect(decision.verdict).toBe("escalate");
  const changes = { outcome: "approve_modified", modifications: [{ op: "add", path: "/more", value: `see ${ssn}` }] };
  const [comment, message_to_agent] = [`it is ${token}`, `use hunter2!`];
  const first = await post(`${path}/decision`, org.operator, { ...changes, comment, message_to_agent });
  expect(first.status).toBe(200);
  const of = `/v1/intents/${intent_id}`;
  const shown = (await get(of, org.reviewer)).json;
  expect(shown.intent.payload.content).toEqual(masked);
  expect(shown.intent.withheld).toEqual(["/items/0/ssn", "/items/1/ssn", "/password", "/note"]);
  const same = { outcome: "approve_modified", modifications: first.json.escalation.votes[0].modifications };
  expect((await post(`${path}/decision`, org.reviewer, same)).json.escalation.status).toBe("decided");
  await post(`${of}/observations`, org.agent, {
    status: "executed",
    detail: { used: token, with: "hunter2!", password: "s3cr" },
  });

  for (const key of [org.agent]) {
    const { decision: final } = (await get(`${of}/decision`, key)).json;
    expect(final.modified_content).toEqual({ ...content, copied: ssn, more: `see ${ssn}` });
    expect((await get(of, key)).json.intent.payload.content).toEqual(content);
  }
  const { modified_content } = (await get(`${of}/decision`, org.reviewer)).json.decision;
  expect(modified_content).toEqual({ ...masked, copied: "[masked]", more: "see [masked]" });

  const rendered = new Map<string, string>();
  const pages = [of, `${of}/decision`, `${of}/audit`, "/v1/intents", "/v1/audit", "/v1/escalations", path];
  for (const page of pages) rendered.set(page, (await get(page, admin)).text);
  for (const table of ["events", "deliveries", "mails", "escalations"]) {
    const columns = table === "escalations" ? "record::text" : "row_to_json(t)::text";
    const rows = await db.tenant(org.org.org_id, (query) => query(`select ${columns} as text from ${table} t`));
    rendered.set(table, JSON.stringify(rows));
  }
  for (const [place, text] of rendered) for (const secret of secrets) expect(text, place).not.toContain(secret);
  expect(rendered.get("/v1/escalations")).toContain("for [redacted] by [redacted]");
});

test("a search finds no masked text for people, also not by the end of a page, and finds it for the agent", async () => {
  for (let count = 0; count < 3; count += 1) await submit("mask");
  for (const search of [`session_id=s ${ssn}`, `text=${ssn}`, `target=for ${ssn} by ${token} hunter2!`]) {
    const path = `/v1/intents?limit=1&tool=mask&${new URLSearchParams(search)}`;
    expect((await get(path, org.reviewer)).json, search).toEqual({ intents: [], next_cursor: null });
    expect((await get(path, org.agent)).json.intents, search).toHaveLength(1);
  }
});

test("an edit with unchanged masks keeps the values, and any other mask is 422", async () => {
  const { path, intent_id } = await submit();
  const edit = (modifications: object[]) =>
    post(`${path}/decision`, org.operator, { outcome: "approve_modified", modifications });
  const items = [{ id: 2, ssn: "[masked]" }];
  for (const modification of [
    { op: "replace", path: "/items", value: items },
    { op: "add", path: "/more", value: "[masked]" },
    { op: "replace", path: "/note", value: `${masked.note}!` },
  ]) {
    const { status, json } = await edit([{ op: "add", path: "/n", value: 1 }, modification]);
    expect([status, json.error.code, json.error.details[0].path]).toEqual([
      422,
      "masked_value_changed",
      "/modifications/1",
    ]);
  }
  const whole = { ...masked, items: masked.items, extra: 1 };
  const all = Object.entries(whole).map(([name, value]) => ({ op: "add", path: `/${name}`, value }));
  const { status, json } = await edit(all);
  expect([status, json.escalation.votes[0].modifications]).toEqual([200, all]);
  await post(`${path}/decision`, org.reviewer, { outcome: "approve_modified", modifications: all });
  const final = (await get(`/v1/intents/${intent_id}/decision`, org.agent)).json.decision;
  expect(final.modified_content).toEqual({ ...content, copied: ssn, extra: 1 });
});

test("a star redacts each entry of a list; a mask alone changes nothing", async () => {
  const redacted = (await submit("redact")).decision;
  expect(redacted.modified_content.items).toEqual([
    { id: 1, ssn: "[redacted]" },
    { id: 2, ssn: "[redacted]" },
  ]);
  const { decision, intent_id } = await submit("mask");
  expect(decision).toMatchObject({ outcome: "approve", modifications: [], modified_content: null });
  expect((await get(`/v1/intents/${intent_id}`, admin)).json.intent.payload.content).toEqual(masked);
});

test("a path that can match nothing is refused at save", async () => {
  for (const path of ["/items/-/ssn", "/params/ssn", "/items/[*]/ssn"]) {
    const { status, json } = await save("dead", { effect: "escalate", modify: [{ op: "mask", path }] });
    expect([status, json.error.code, json.error.details[0].path]).toEqual([
      422,
      "policy_invalid",
      "/spec/modify/0/path",
    ]);
  }
});
