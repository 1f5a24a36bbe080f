/** Streams over the API, to a store that verifies signatures, and to files. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { networkList } from "@countersign/core";
import { beforeAll, expect, test } from "vitest";
import { createHttpOut } from "../../src/edge/outgoing/http-out.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { s3Settings, s3Store } from "../../src/testing/network/s3-store.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";
import { whenFileIsDone } from "../../src/testing/when-file-is-done.ts";

/** So old that entries do not wait for further ones, and their hour is over. */
const hours_back = 2;
const now_ms = () => Date.now() - hours_back * 3_600_000;
const clock = { now_us: () => now_ms() * 1_000 };
const patience = { timeout: 120_000, interval: 100 };

const database = await testDatabase();
const { db } = database;
const stream_dir = await mkdtemp(join(tmpdir(), "streams-"));
whenFileIsDone(() => rm(stream_dir, { recursive: true, force: true }));
const httpOut = createHttpOut({ rules: { allow_http: true, allow_networks: networkList(["127.0.0.0/8"]) } });
whenFileIsDone(() => httpOut.close());
const { url } = await serviceNode(database, { clock, httpOut, config: { stream_dir } });
const store = await s3Store({ now_ms });
let org: Reviewed;

const s3 = (more: object = {}) => ({ kind: "s3", endpoint: store.endpoint, prefix: "a/b", ...s3Settings, ...more });
const api = (method: string, path = "", body?: unknown, key = org.admin) =>
  call(url, method, `/v1/streams${path}`, { key, ...(body === undefined ? {} : { body }) });

async function created(input: object = {}): Promise<string> {
  const { status, json, text } = await api("POST", "", { name: "siem", format: "jsonl", target: s3(), ...input });
  if (status !== 201) throw new Error(text);
  return json.stream.stream_id;
}

async function submit(content: object = {}, verb = "pay"): Promise<string> {
  const intent = {
    agent: { id: "agent-1", on_behalf_of: "jane" },
    action: { type: "payment.transfer", verb, target: { type: "account", identifier: "acc_1" } },
    payload: { summary: "a payment", content },
  };
  const { json } = await call(url, "POST", "/v1/intents", { key: org.agent, body: { intent } });
  return json.intent_id;
}

/** A failed stream need not wait until its next attempt. */
const hurry = () => db.query("update streams set due_at = now() where due_at > now() and problem is not null");
const isDone = async (stream_id: string) => {
  await hurry();
  const { lag_entries, problem } = (await api("GET", `/${stream_id}`)).json.stream;
  return { lag_entries, problem };
};
const caughtUp = (stream_id: string) =>
  expect.poll(() => isDone(stream_id), patience).toEqual({ lag_entries: 0, problem: null });

const linesIn = (prefix: string) =>
  [...store.objects.keys()]
    .filter((name) => name.startsWith(prefix) && name.endsWith(".jsonl"))
    .sort()
    .flatMap((name) => String(store.objects.get(name)).split("\n").slice(0, -1))
    .map((line) => JSON.parse(line));

async function trail(): Promise<{ seq: number; hash: string; data: object }[]> {
  const answer = await fetch(`${url}/v1/exports/audit?format=jsonl`, { headers: { "X-API-Key": org.admin } });
  const lines = (await answer.text()).split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line)).reverse();
}

beforeAll(async () => {
  org = await reviewedOrganization(db, url, { packs: [] });
  await activatePayPolicy(url, org, "large", { when: "params.amount > 10.0", escalation: {} });
  // The organization was made by a clock that is right, and its entries would wait for a minute.
  await db.query("update ledger set at = at - interval '3 hours' where org_id = $1", [org.org.org_id]);
});

test("the store has the records of the audit trail in order, those of decisions with intent and decision", async () => {
  const intent_id = await submit({ amount: 5 });
  await submit({ amount: 50 });
  const stream_id = await created({ from: "2000-01-01T00:00:00Z" });
  await caughtUp(stream_id);
  const lines = linesIn("a/b/");
  const expected = (await trail()).slice(0, lines.length);
  expect(lines.map(({ seq, hash }) => [seq, hash])).toEqual(expected.map(({ seq, hash }) => [seq, hash]));
  const decided = lines.find((line) => line.type === "decided" && line.intent_id === intent_id);
  expect(decided).toMatchObject({
    about: { agent_id: "agent-1", verb: "pay" },
    intent: { intent_id, agent: { id: "agent-1" }, payload: { content: { amount: 5 } } },
    decision: { verdict: "approve", intent_id },
  });
  const names = [...store.objects.keys()].filter((name) => name.startsWith("a/b/"));
  expect(names).toContainEqual(expect.stringMatching(/^a\/b\/\d{4}\/\d\d\/\d\d\/\d\d-00001\.jsonl$/));
  await expect
    .poll(() => [...store.objects.keys()].some((name) => /^a\/b\/.*\/\d\d-\d{5}\.checkpoint$/.test(name)), patience)
    .toBe(true);
});

test("redacted and masked values do not reach the store", async () => {
  const modify = [
    { op: "redact", path: "/iban" },
    { op: "mask", path: "/pin" },
  ];
  const spec = { match: { verbs: ["send"] }, when: "true", effect: "approve_modified", modify };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "hides" }, spec };
  const saved = await call(url, "POST", "/v1/policies", { key: org.admin, body: { policy } });
  const path = `/v1/policies/${saved.json.policy.policy_id}/activate`;
  expect((await call(url, "POST", path, { key: org.admin, body: { mode: "live" } })).status).toBe(200);
  await submit({ iban: "DE89370400440532013000", pin: "pin-4711-pin", amount: 1 }, "send");
  for (const format of ["jsonl", "ocsf"]) {
    const stream_id = await created({
      format,
      target: s3({ prefix: `masks-${format}` }),
      from: "2000-01-01T00:00:00Z",
    });
    await caughtUp(stream_id);
    const text = JSON.stringify(linesIn(`masks-${format}/`));
    expect(text).toContain("pay");
    expect(text).not.toContain("DE89370400440532013000");
    expect(text).not.toContain("pin-4711-pin");
  }
});

test.each([
  ["a wrong secret", { secret_access_key: "wrong" }, "The store answered 403 SignatureDoesNotMatch."],
  ["an unknown access key", { access_key_id: "AKIAOTHER" }, "The store answered 403 InvalidAccessKeyId."],
  ["another region", { region: "us-east-1" }, "The store answered 400 AuthorizationHeaderMalformed."],
  ["an unknown bucket", { bucket: "other" }, "The store answered 404 NoSuchBucket."],
])("with %s the stream says so, and goes on without a gap after a correction", async (title, wrong, problem) => {
  const prefix = `wrong-${title.replaceAll(" ", "-")}`;
  const stream_id = await created({ target: s3({ prefix, ...wrong }) });
  await submit();
  expect((await api("POST", `/${stream_id}/test`)).json.test).toMatchObject({ written: false, problem });
  await expect.poll(async () => (await api("GET", `/${stream_id}`)).json.stream.problem, patience).toBe(problem);
  await submit();
  const { secret_access_key, ...shown } = s3({ prefix });
  const target = !("secret_access_key" in wrong) ? shown : { ...shown, secret_access_key };
  expect((await api("PATCH", `/${stream_id}`, { target })).status).toBe(200);
  expect((await api("POST", `/${stream_id}/test`)).json.test).toEqual({
    object: `${prefix}/countersign-test.json`,
    written: true,
    problem: null,
  });
  await caughtUp(stream_id);
  const entries = linesIn(`${prefix}/`).map(({ entry }) => entry);
  expect([...new Set(entries)]).toEqual(Array.from({ length: new Set(entries).size }, (_, at) => entries[0] + at));
  await api("DELETE", `/${stream_id}`);
});

test.each([
  ["refuses with 500", { status: 500, code: "InternalError" }, "The store answered 500 InternalError."],
  ["breaks the connection after it stored", "stores_and_breaks", expect.stringContaining("connection")],
] as const)(
  "a store that %s gets the same object again, and no entry is missing or there twice",
  async (_, fault, problem) => {
    const prefix = typeof fault === "string" ? fault.replaceAll("_", "-") : "refuses";
    let failures = 0;
    store.fault = (name) => (name.startsWith(`${prefix}/`) && failures++ < 2 ? fault : null);
    const stream_id = await created({ target: s3({ prefix }) });
    const ids = [await submit(), await submit()];
    await expect.poll(async () => (await api("GET", `/${stream_id}`)).json.stream.problem, patience).toEqual(problem);
    await caughtUp(stream_id);
    const decided = linesIn(`${prefix}/`).filter(({ type }) => type === "decided");
    expect(decided.map(({ intent_id }) => intent_id)).toEqual(ids);
    const asked = store.asked.filter((name) => name.startsWith(`${prefix}/`) && name.endsWith(".jsonl"));
    expect(asked.slice(0, 3)).toEqual([asked[0], asked[0], asked[0]]);
    store.fault = () => null;
    await api("DELETE", `/${stream_id}`);
  },
);

test("files are below the operator's directory, by organization and stream", async () => {
  const stream_id = await created({ target: { kind: "file" } });
  const { json } = await api("POST", `/${stream_id}/test`);
  expect(json.test).toEqual({
    object: `${org.org.org_id}/${stream_id}/countersign-test.json`,
    written: true,
    problem: null,
  });
  expect(JSON.parse(await readFile(join(stream_dir, json.test.object), "utf8"))).toMatchObject({ stream_id });
  await submit();
  await caughtUp(stream_id);
  const hour = new Date(now_ms()).toISOString().slice(0, 13).replace("T", "-").replaceAll("-", "/");
  const text = await readFile(join(stream_dir, org.org.org_id, stream_id, `${hour}-00001.jsonl`), "utf8");
  expect(text).toContain('"type":"decided"');
  await api("DELETE", `/${stream_id}`);
});

test("a directory that cannot be written is a problem with the system's reason", async () => {
  const stream_id = await created({ target: { kind: "file" } });
  await mkdir(join(stream_dir, org.org.org_id), { recursive: true });
  await writeFile(join(stream_dir, org.org.org_id, stream_id), "in the way");
  const { test: tried } = (await api("POST", `/${stream_id}/test`)).json;
  expect(tried.problem).toMatch(/^The file could not be written \(E[A-Z]+\)\.$/);
  await api("DELETE", `/${stream_id}`);
});

test("a stream that is set back writes the same objects again, and one that is off writes nothing", async () => {
  const prefix = "back";
  const stream_id = await created({ target: s3({ prefix }), from: "2000-01-01T00:00:00Z" });
  await caughtUp(stream_id);
  const before = new Map([...store.objects].filter(([name]) => name.startsWith("back/") && name.endsWith(".jsonl")));
  for (const name of before.keys()) store.objects.delete(name);
  const off = await api("PATCH", `/${stream_id}`, { active: false, from: "2001-01-01T00:00:00Z" });
  expect(off.json.stream).toMatchObject({ active: false, written_to: null });
  const asked = store.asked.length;
  await submit();
  expect(store.asked.slice(asked).filter((name) => name.startsWith("back/"))).toEqual([]);
  await api("PATCH", `/${stream_id}`, { active: true });
  await caughtUp(stream_id);
  for (const [name, bytes] of before) expect(store.objects.get(name)).toEqual(bytes);
  const ahead = await api("PATCH", `/${stream_id}`, { from: "2001-01-01T00:00:00Z" });
  expect(ahead.status).toBe(200);
  await db.query("update streams set active = false, seq = 0 where stream_id = $1", [stream_id]);
  const later = await api("PATCH", `/${stream_id}`, { from: new Date(now_ms() + 3_600_000).toISOString() });
  expect([later.status, later.json.error.details[0].path]).toEqual([409, "/from"]);
  await api("DELETE", `/${stream_id}`);
});

test("the secret is in no answer and no record, and changes are in the trail", async () => {
  const stream_id = await created({ name: "trail" });
  await api("PATCH", `/${stream_id}`, { name: "renamed", target: s3({ prefix: "c" }) });
  await api("DELETE", `/${stream_id}`);
  expect((await api("GET", `/${stream_id}`)).status).toBe(404);
  const own = (await trail()).filter(({ data }) => JSON.stringify(data).includes(stream_id));
  expect(own).toMatchObject([
    { type: "stream_created", data: { name: "trail", target: { kind: "s3", prefix: "a/b" } } },
    { type: "stream_changed", data: { name: "renamed", target: { prefix: "c" }, new_secret: true } },
    { type: "stream_deleted", data: { name: "renamed" } },
  ]);
  const rows = await db.query("select * from streams");
  const all = JSON.stringify([own, (await api("GET")).json, rows]);
  expect(all).not.toContain(s3Settings.secret_access_key);
});

test.each([
  [
    "a target without its bucket",
    { target: { ...s3Settings, kind: "s3", endpoint: "http://127.0.0.1", bucket: undefined } },
    400,
    "/target/bucket",
  ],
  [
    "a target without its secret",
    { target: { ...s3Settings, kind: "s3", endpoint: "http://127.0.0.1", secret_access_key: undefined } },
    400,
    "/target/secret_access_key",
  ],
  ["a file with a bucket", { target: { kind: "file", bucket: "audit" } }, 400, "/target/bucket"],
  [
    "a private address",
    { target: { ...s3Settings, kind: "s3", endpoint: "https://10.0.0.1" } },
    400,
    "/target/endpoint",
  ],
  [
    "an address with a path",
    { target: { ...s3Settings, kind: "s3", endpoint: "http://127.0.0.1/x" } },
    400,
    "/target/endpoint",
  ],
  [
    "a prefix that leaves the bucket",
    { target: { ...s3Settings, kind: "s3", endpoint: "http://127.0.0.1", prefix: "../x" } },
    400,
    "/target/prefix",
  ],
  ["an unknown format", { format: "csv" }, 400, "/format"],
])("%s is refused", async (_, wrong, status, path) => {
  const answer = await api("POST", "", { name: "siem", format: "jsonl", target: s3(), ...wrong });
  expect([answer.status, answer.json.error.details[0].path]).toEqual([status, path]);
});

test("a stream keeps the kind of its target, and an organization has at most ten", async () => {
  const other = await reviewedOrganization(db, url);
  const ask = (method: string, path: string, body: object) =>
    call(url, method, `/v1/streams${path}`, { key: other.admin, body });
  const input = { name: "n", format: "jsonl", target: { kind: "file" } };
  const first = (await ask("POST", "", input)).json.stream.stream_id;
  const changed = await ask("PATCH", `/${first}`, { target: s3() });
  expect([changed.status, changed.json.error.details[0].path]).toEqual([409, "/target/kind"]);
  for (let n = 1; n < 10; n += 1) expect((await ask("POST", "", input)).status).toBe(201);
  expect((await ask("POST", "", input)).json.error.code).toBe("already_exists");
  // Nobody of another organization sees or changes it.
  for (const [method, path, body] of [
    ["GET", ""],
    ["PATCH", "", { name: "x" }],
    ["DELETE", ""],
    ["POST", "/test"],
  ] as const)
    expect((await api(method, `/${first}${path}`, body)).status).toBe(404);
});

test("without a directory of the operator, files are refused", async () => {
  const { url: bare } = await serviceNode(database, { clock, httpOut });
  const body = { name: "n", format: "jsonl", target: { kind: "file" } };
  const answer = await call(bare, "POST", "/v1/streams", { key: org.admin, body });
  expect([answer.status, answer.json.error.details[0].message]).toEqual([
    409,
    "This service has no directory for streams. Its operator must set COUNTERSIGN_STREAM_DIR.",
  ]);
});

test("a stream that is behind needs attention, and metrics show its lag", async () => {
  const prefix = "behind";
  store.fault = (name) => (name.startsWith(`${prefix}/`) ? { status: 503, code: "SlowDown" } : null);
  const stream_id = await created({ name: "late one", target: s3({ prefix }) });
  await submit();
  await expect
    .poll(async () => (await api("GET", `/${stream_id}`)).json.stream.problem, patience)
    .toContain("SlowDown");
  const { attention } = (await call(url, "GET", "/v1/attention", { key: org.admin })).json;
  expect(attention.items).toContainEqual(
    expect.objectContaining({
      ...{ kind: "stream_behind", what: "late one", stream_id },
      message: expect.stringMatching(
        /^The stream late one is 1[12]\d minutes behind\. The store answered 503 SlowDown\.$/,
      ),
    }),
  );
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(/^countersign_streams_failing [1-9]/m);
  expect(Number(/^countersign_streams_lag_seconds (.*)$/m.exec(metrics)?.[1])).toBeGreaterThan(3_600);
  store.fault = () => null;
  await api("DELETE", `/${stream_id}`);
});
