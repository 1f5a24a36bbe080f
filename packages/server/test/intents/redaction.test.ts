/** Redacted or removed values appear in no event, mail, log line, audit row or escalation. */
import { beforeAll, expect, test } from "vitest";
import type { Log } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, type TestOrganization, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const lines: string[] = [];
const write = (fields: object, message: string): void => {
  lines.push(`${JSON.stringify(fields)} ${message}`);
};
const log: Log = { debug: write, info: write, warn: write, error: write };
const secret = "123-45-6789-QQ";
const account = 998877665544;
/** Grouped digits, as people write them. */
const grouped = "9988 7766-5544";
let url: string;
let org: TestOrganization;
let admin: string;

beforeAll(async () => {
  ({ url } = await serviceNode(database, { log }));
  org = await testOrganization(database.db);
  admin = (await org.key()).api_key;
  const { json } = await call(url, "GET", "/v1/membranes", { key: admin });
  await call(url, "POST", `/v1/membranes/${json.membranes[0].membrane_id}/go-live`, { key: admin });
  const rules = [
    {
      name: "hide",
      spec: {
        when: "true",
        effect: "approve_modified",
        modify: [
          { op: "redact", path: "/ssn" },
          { op: "remove", path: "/account" },
        ],
      },
    },
    {
      name: "ask",
      spec: {
        when: "params.ask == true",
        effect: "escalate",
        message:
          "{{params.ssn}} {{params.account}} {{params.name}} {{params}} {{target.identifier}} {{intent.payload.summary}}",
      },
    },
    {
      name: "disclose",
      spec: {
        when: "has(params.text)",
        effect: "approve_modified",
        modify: [{ op: "set", path: "/text", value: "params.text + ' (written by an agent)'" }],
      },
    },
    {
      name: "copy",
      spec: {
        when: "has(params.to_copy)",
        effect: "approve_modified",
        modify: [{ op: "set", path: "/copied", value: "params.to_copy" }],
      },
    },
    { name: "stop", spec: { when: "params.ssn == params.other && params.stop", effect: "block" } },
    { name: "refuse", spec: { when: "params.refuse == true", effect: "block" } },
    {
      name: "many",
      spec: {
        when: "params.copies > 9.0",
        effect: "block",
        message: "Too many for {{target.identifier}}: {{intent.payload.summary}} {{params.other}}",
      },
    },
  ];
  for (const { name, spec } of rules) {
    const policy = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name },
      spec: { ...spec, on_unknown: "skip" },
    };
    const saved = await call(url, "POST", "/v1/policies", { key: admin, body: { policy } });
    expect(saved.status).toBe(201);
    const { policy_id } = saved.json.policy;
    await call(url, "POST", `/v1/policies/${policy_id}/activate`, { key: admin, body: { mode: "live" } });
  }
  const hook = {
    url: "https://receiver.example.com/hook",
    event_types: [
      "decision.escalated",
      "decision.blocked",
      "decision.approved",
      "decision.overridden",
      "escalation.cancelled",
      "escalation.decided",
      "escalation.reassigned",
    ],
  };
  expect((await call(url, "POST", "/v1/escalations/webhooks", { key: admin, body: hook })).status).toBe(201);
});

const submit = (content: object) =>
  call(url, "POST", "/v1/intents", {
    key: admin,
    body: {
      intent: {
        agent: { id: "agent-1" },
        action: { type: "other.form", verb: "share", target: { type: "person", identifier: secret } },
        payload: {
          summary: `Share ${secret} and ${grouped} of Ann`,
          content: { ssn: secret, account, name: "Ann", ...content },
        },
      },
    },
  });

const reviewer = async () => (await org.key({ role: "operator" })).api_key;

/** Returns a table's rows as text, without rows that hold the intent itself. */
const rowsOf = async (table: string) => {
  const rows = await database.db.tenant(org.org_id, (query) =>
    query<{ text: string }>(`select row_to_json(t)::text as text from ${table} t`),
  );
  return rows.map(({ text }) => text);
};

test("a redacted value appears nowhere, whether the action is approved, escalated or blocked", async () => {
  const verdicts = [];
  const ids: string[] = [];
  for (const content of [{}, { ask: true }, { stop: true, other: secret }]) {
    const { status, json } = await submit(content);
    expect(status).toBe(201);
    verdicts.push(json.decision.verdict);
    ids.push(json.intent_id);
    // A block's answer has no modified content and must not name redacted values.
    for (const hidden of [secret, String(account), grouped])
      expect(JSON.stringify(json.decision)).not.toContain(hidden);
  }
  expect(verdicts).toEqual(["approve_modified", "escalate", "block"]);
  const [open] = (await call(url, "GET", "/v1/escalations", { key: admin })).json.escalations;
  const cancel = `/v1/escalations/${open.escalation_id}/cancel`;
  expect((await call(url, "POST", cancel, { key: admin, body: { reason: "not needed" } })).status).toBe(200);

  // The intent lists values to redact, also after the review closed. Older records list them in the decision.
  const withheld = async () => {
    const of = async (id: string) => (await call(url, "GET", `/v1/intents/${id}`, { key: admin })).json.intent.withheld;
    return Promise.all(ids.map(of));
  };
  const places = ["/ssn", "/account"];
  expect(await withheld()).toEqual([places, places, places]);
  const { json: list } = await call(url, "GET", "/v1/intents", { key: admin });
  expect(list.intents.map((each: { withheld: string[] }) => each.withheld)).toEqual([places, places, places]);
  await database.db.system((query) =>
    query("update ledger set intent = (intent::jsonb - 'withheld')::json where type = 'decided'"),
  );
  expect(await withheld()).toEqual([places, places, []]);

  const shown = new Map<string, string[]>();
  for (const table of ["events", "audit", "escalations", "mails", "deliveries"]) shown.set(table, await rowsOf(table));
  for (const id of ids) shown.set(id, [(await call(url, "GET", `/v1/intents/${id}/audit`, { key: admin })).text]);
  shown.set("escalations read", [(await call(url, "GET", "/v1/escalations", { key: admin })).text]);
  shown.set("log", lines);
  // Dispatch moves an event into its deliveries.
  expect([...(shown.get("events") ?? []), ...(shown.get("deliveries") ?? [])].length).toBeGreaterThan(3);
  expect(shown.get("escalations")?.length).toBe(1);
  expect(shown.get("escalations")?.[0]).toContain("Share [redacted] and [redacted] of Ann");
  expect(shown.get("escalations")?.[0]).toContain("[redacted] unknown Ann");
  expect(shown.get("escalations")?.[0]).toContain("[redacted] Share [redacted] and [redacted] of Ann");
  for (const [place, texts] of shown) {
    for (const text of texts)
      for (const hidden of [secret, String(account), grouped]) expect(text, place).not.toContain(hidden);
  }
});

test("the report that a change would be blocked contains no redacted value of the action", async () => {
  const { decision } = (await submit({ ask: true, other: `see ${secret}` })).json;
  const body = { outcome: "approve_modified", modifications: [{ op: "add", path: "/copies", value: 10 }] };
  const path = `/v1/escalations/${decision.escalation_id}/decision`;
  const { status, json } = await call(url, "POST", path, { key: await reviewer(), body });
  expect([status, json.error.details[0].message]).toEqual([
    422,
    "Too many for [redacted]: Share [redacted] and [redacted] of Ann see [redacted]",
  ]);
});

test("a redacted value that somebody quotes in a comment, a reason or a report appears nowhere", async () => {
  const operator = await reviewer();
  const remark = `Asked Ann: ${secret} and ${account} are right`;
  const left = "Asked Ann: [redacted] and [redacted] are right";
  const post = async (path: string, body: object, key = operator) => {
    const { status, json, text } = await call(url, "POST", path, { key, body });
    expect(status, text).toBeLessThan(300);
    expect(text).not.toContain(secret);
    expect(text).not.toContain(String(account));
    return json;
  };
  const held = async () => `/v1/escalations/${(await submit({ ask: true })).json.decision.escalation_id}`;

  const allowed = await held();
  await post(`${allowed}/reassign`, { reviewers: [{ type: "role", id: "operator" }], reason: remark });
  const approved = await post(`${allowed}/decision`, { outcome: "approve", comment: remark });
  expect(approved.escalation.votes[0].comment).toBe(left);
  expect(approved.escalation.resolution.comment).toBe(left);
  const refused = await post(`${await held()}/decision`, { outcome: "block", comment: remark });
  expect(refused.escalation.resolution.comment).toBe(left);
  const cancelled = await post(`${await held()}/cancel`, { reason: remark });
  expect(cancelled.escalation.resolution.comment).toBe(left);
  const changed = await post(`${await held()}/decision`, {
    outcome: "approve_modified",
    modifications: [{ op: "replace", path: "/ssn", value: "987-65-4321-ZZ" }],
    comment: `It is 987-65-4321-ZZ, not ${secret}`,
  });
  expect(changed.escalation.resolution.comment).toBe("It is [redacted], not [redacted]");

  const { intent_id } = (await submit({ refuse: true })).json;
  const { override } = await post(`/v1/intents/${intent_id}/override`, { reason: remark });
  expect(override.reason).toBe(left);
  const detail = { said: remark };
  const { observation } = await post(`/v1/intents/${intent_id}/observations`, { status: "skipped", detail }, admin);
  expect(observation.detail).toEqual({ said: left });
  // Redaction marks may be longer than the text they replace.
  const long = `${"ssn: ".repeat(796)}${secret} ${secret}`.slice(0, 4_000);
  const { observation: other } = await post(
    `/v1/intents/${intent_id}/observations`,
    { status: "skipped", detail: long },
    admin,
  );
  expect(other.detail.length).toBeLessThanOrEqual(4_000);

  for (const table of ["events", "audit", "escalations", "mails", "deliveries", "overrides"])
    for (const text of await rowsOf(table)) {
      expect(text, table).not.toContain(secret);
      expect(text, table).not.toContain(String(account));
      expect(text, table).not.toContain("987-65-4321-ZZ");
    }
});

test("text that a reviewer adds elsewhere in the action reveals no redacted value to others", async () => {
  const operator = await reviewer();
  // The second redacted text is also a member name of the change.
  const { json } = await submit({ ask: true, ssn: { number: secret, said_in: "value" } });
  const body = {
    outcome: "approve_modified",
    modifications: [{ op: "add", path: "/note", value: `of ${secret}` }],
  };
  const path = `/v1/escalations/${json.decision.escalation_id}/decision`;
  const { escalation } = (await call(url, "POST", path, { key: operator, body })).json;
  const told = { op: "add", path: "/note", value: "of [redacted]" };
  expect(escalation.votes[0].modifications).toEqual([told]);
  expect(escalation.resolution.modifications.at(-1)).toEqual({ ...told, policy_id: null });
  for (const table of ["events", "audit", "mails", "deliveries"])
    for (const text of await rowsOf(table)) expect(text, table).not.toContain(secret);
});

test("text that a policy copies from a reviewer's change reveals no redacted value to others", async () => {
  const { json } = await submit({ ask: true });
  const body = { outcome: "approve_modified", modifications: [{ op: "add", path: "/to_copy", value: `of ${secret}` }] };
  const path = `/v1/escalations/${json.decision.escalation_id}/decision`;
  const { escalation } = (await call(url, "POST", path, { key: await reviewer(), body })).json;
  expect(escalation.resolution.modifications.at(-1)).toMatchObject({ path: "/copied", value: "of [redacted]" });
  const { decision } = (await call(url, "GET", `/v1/intents/${json.intent_id}/decision`, { key: admin })).json;
  expect(decision.modified_content.copied).toBe(`of ${secret}`);
  for (const table of ["events", "audit", "mails", "deliveries"])
    for (const text of await rowsOf(table)) expect(text, table).not.toContain(secret);
});

/** Submits an action that needs two approvals and calls `run`; `rule` votes with modifications. */
async function withTwoReviewers(
  content: object,
  run: (
    rule: (key: string, modifications: object[]) => ReturnType<typeof call>,
    intent_id: string,
    path: string,
  ) => Promise<void>,
) {
  const { json: membranes } = await call(url, "GET", "/v1/membranes", { key: admin });
  const [{ membrane_id, escalation }] = membranes.membranes;
  const set = (quorum: number) =>
    call(url, "PATCH", `/v1/membranes/${membrane_id}`, { key: admin, body: { escalation: { ...escalation, quorum } } });
  expect((await set(2)).status).toBe(200);
  const { json } = await submit(content);
  const path = `/v1/escalations/${json.decision.escalation_id}`;
  const rule = (key: string, modifications: object[]) =>
    call(url, "POST", `${path}/decision`, { key, body: { outcome: "approve_modified", modifications } });
  await run(rule, json.intent_id, path);
  expect((await set(1)).status).toBe(200);
}

test("a change that waits for a second reviewer shows no redacted value in a comment or reason", () =>
  withTwoReviewers({ ask: true }, async (rule, intent_id, path) => {
    const [first, second] = [await reviewer(), await reviewer()];
    const number = "555-66-7777-XX";
    const { json } = await rule(first, [{ op: "replace", path: "/ssn", value: number }]);
    expect(json.escalation.votes[0].modifications[0].value).toBe("[redacted]");
    const post = async (act: string, key: string, body: object) => {
      const { status, text } = await call(url, "POST", `${path}/${act}`, { key, body });
      expect([status, text.includes(number)]).toEqual([200, false]);
      return text;
    };
    await post("reassign", second, { reviewers: [{ type: "role", id: "operator" }], reason: `Is ${number} right?` });
    expect(await post("decision", first, { outcome: "block", comment: `${number} is wrong` })).toContain(
      '"comment":"[redacted] is wrong"',
    );
    const { text } = await call(url, "GET", `/v1/intents/${intent_id}/audit`, { key: admin });
    expect(text).toContain("Is [redacted] right?");
    expect(text).not.toContain(number);
  }));

test("a second reviewer can approve the first one's change as shown, whatever is redacted", () =>
  withTwoReviewers({ ask: true }, async (rule, intent_id) => {
    const [first, second, third] = [await reviewer(), await reviewer(), await reviewer()];
    // The policy appends to this text once, not at each approval.
    const change = { op: "add", path: "/text", value: `of ${secret}` };
    const [vote] = (await rule(first, [change])).json.escalation.votes;
    expect(vote.modifications).toEqual([{ ...change, value: "of [redacted]" }]);
    expect((await rule(third, [{ ...change, value: "of nobody" }])).json.error.code).toBe("state_conflict");
    expect((await rule(second, vote.modifications)).json.escalation.status).toBe("decided");
    const { decision } = (await call(url, "GET", `/v1/intents/${intent_id}/decision`, { key: admin })).json;
    expect(decision.modified_content.text).toBe(`${change.value} (written by an agent)`);
  }));

test("a second reviewer cannot approve a value that the first made a policy redact, unless by sending it", () =>
  withTwoReviewers({ ask: true, recipient: "Ann" }, async (rule) => {
    const [first, second] = [await reviewer(), await reviewer()];
    // A text at a redacted place is also removed elsewhere, here from a name.
    const changes = [
      { op: "replace", path: "/ssn", value: "Mallory" },
      { op: "replace", path: "/recipient", value: "Ann" },
      { op: "add", path: "/to_Mallory", value: true },
    ];
    const [vote] = (await rule(first, changes)).json.escalation.votes;
    expect(vote.modifications).toMatchObject([{ value: "[redacted]" }, {}, { path: "/to_[redacted]" }]);
    expect((await rule(second, vote.modifications)).json.error.code).toBe("state_conflict");
    expect((await rule(second, changes)).json.escalation.status).toBe("decided");
  }));
