import { createHash } from "node:crypto";
import { parseVerifierKey, type VerifierKey } from "@countersign/core";
import { verifyReceipt } from "@countersign/sdk/verify";
import { beforeAll, expect, test } from "vitest";
import { exportReceipts } from "../../packages/server/src/operations/exports/export-receipts.ts";
import type { Caller } from "../../packages/server/src/operations/shared/caller.ts";
import { seqOfEntry } from "../../packages/server/src/store/log/read-receipt-entries.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { heldBody, type Reviewed, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";
import { sideBySide } from "../../packages/server/src/testing/side-by-side.ts";
import { witnessSigner } from "../evidence/signing.ts";

const database = await testDatabase();
const witness = witnessSigner("witness.example/w1", "witness");
const { url, runtime } = await serviceNode(database);
// Known, but not asked.
Object.assign(runtime.settings, { log_witnesses: [parseVerifierKey(witness.verifier_key) as VerifierKey] });

let of: Reviewed;
let keys: string[];
/** More than two pages. */
const before = 45;

async function submitted(body: object = heldBody, key = of.agent): Promise<string> {
  const { status, json } = await call(url, "POST", "/v1/intents", { key, body });
  expect(status).toBe(201);
  return json.intent_id;
}

const fileOf = (query: string, key = of.operator) =>
  fetch(`${url}/v1/exports/receipts${query}`, { headers: { "X-API-Key": key } });

async function receiptsOf(query = "", key = of.operator): Promise<string[]> {
  const response = await fileOf(query, key);
  expect(response.status).toBe(200);
  return (await response.text()).split("\n").slice(0, -1);
}

beforeAll(async () => {
  of = await reviewedOrganization(database.db, url);
  await sideBySide(Array.from({ length: before }), () => submitted());
  // Waits for the first checkpoint, with which the log has a key.
  expect(await receiptsOf()).toHaveLength(before);
  const listed = (await call(url, "GET", "/v1/audit/log/key", { key: of.operator })).json.keys;
  keys = listed.map(({ verifier_key }: { verifier_key: string }) => verifier_key);
});

test("each decision has one receipt that verifies, newest first, all under one checkpoint", async () => {
  const response = await fileOf("");
  expect(response.headers.get("content-type")).toBe("application/jsonl; charset=utf-8");
  expect(response.headers.get("content-disposition")).toBe('attachment; filename="receipts.jsonl"');
  const lines = (await response.text()).split("\n").slice(0, -1);
  const parsed = lines.map((line) => JSON.parse(line));
  expect(new Set(parsed.map(({ intent_id }) => intent_id)).size).toBe(before);
  const ids = parsed.map(({ intent_id }) => intent_id);
  expect(ids).toEqual([...ids].sort().reverse());
  expect(new Set(parsed.map(({ checkpoint }) => checkpoint)).size).toBe(1);
  for (const line of lines) expect(await verifyReceipt(line, { keys })).toMatchObject({ ok: true });
});

test("lines end with the hash of the file, and the checkpoint covers exactly the records up to as_of_seq", async () => {
  const headers = { "X-API-Key": of.operator, Accept: "application/x-ndjson" };
  const response = await fetch(`${url}/v1/exports/receipts`, { headers });
  const lines = (await response.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const last = lines.pop().export;
  const bytes = Buffer.concat(lines.map(({ part }) => Buffer.from(part, "base64")));
  expect(last).toMatchObject({
    rows: before,
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  });
  const [, size] = JSON.parse(bytes.toString().split("\n")[0] ?? "").checkpoint.split("\n");
  const { audit } = (await call(url, "GET", "/v1/audit?limit=200", { key: of.operator })).json;
  const under = audit.filter(({ entry }: { entry: number }) => entry < Number(size));
  expect(last.as_of_seq).toBe(under[0].seq);
});

test("the period has the decisions from its begin, and not those at its end", async () => {
  const intent_id = await submitted();
  const { intent } = (await call(url, "GET", `/v1/intents/${intent_id}`, { key: of.operator })).json;
  const at = encodeURIComponent(intent.submitted_at);
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const idsOf = (lines: string[]) => lines.map((line) => JSON.parse(line).intent_id);
  expect(idsOf(await receiptsOf(`?from=${at}&to=${later}`))).toEqual([intent_id]);
  expect(idsOf(await receiptsOf(`?to=${at}`))).not.toContain(intent_id);
  expect(await receiptsOf("?to=2020-01-01T00:00:00Z")).toEqual([]);
});

test("what happened after the period is in the receipt of its decision", async () => {
  const intent_id = await submitted();
  const { intent, decision } = (await call(url, "GET", `/v1/intents/${intent_id}`, { key: of.operator })).json;
  const path = `/v1/escalations/${decision.escalation_id}/decision`;
  const end = new Date(Date.parse(intent.submitted_at) + 1).toISOString();
  await call(url, "POST", path, { key: of.reviewer, body: { outcome: "approve", comment: "calm now" } });
  const [newest = ""] = await receiptsOf(`?to=${end}`);
  const verdict = await verifyReceipt(newest, { keys });
  if (!verdict.ok) throw new Error(verdict.reason);
  expect(verdict.intent_id).toBe(intent_id);
  expect(verdict.entries.map(({ type }) => type)).toEqual(["decided", "voted", "reviewed"]);
});

test("a page whose documents are too large for one read has the receipts of single requests", async () => {
  const { intent } = (await call(url, "GET", `/v1/intents/${await submitted()}`, { key: of.operator })).json;
  const content = { text: "x".repeat(400_000) };
  const large = { ...heldBody, intent: { ...heldBody.intent, payload: { content } } };
  const ids: string[] = [];
  for (let n = 0; n < 14; n += 1) ids.push(await submitted(large));
  await call(url, "POST", `/v1/intents/${ids[3]}/observations`, { key: of.operator, body: { status: "skipped" } });
  const lines = await receiptsOf(`?from=${encodeURIComponent(intent.submitted_at)}`);
  expect(lines.join("").length).toBeGreaterThan(14 * 400_000);
  const leavesOf = (receipt: { entries: { leaf: string; documents: object }[] }) =>
    receipt.entries.map(({ leaf, documents }) => ({ leaf, documents }));
  for (const id of [ids[0], ids[3], ids[13]]) {
    const own = JSON.parse(lines.find((line) => line.includes(`"intent_id":"${id}"`)) ?? "");
    const single = (await call(url, "GET", `/v1/intents/${id}/receipt`, { key: of.operator })).json;
    expect(leavesOf(own)).toEqual(leavesOf(single));
    expect(own.entries).toHaveLength(id === ids[3] ? 2 : 1);
  }
});

test("documents with hidden values and erased ones are null, for every caller", async () => {
  const content = { password: "correct horse", version: 4 };
  const hidden = await submitted({ ...heldBody, intent: { ...heldBody.intent, payload: { content } } });
  const erased = await submitted();
  await call(url, "DELETE", `/v1/intents/${erased}/content`, { key: of.admin });
  const lines = await receiptsOf("", of.admin);
  expect(lines.join()).not.toContain("correct horse");
  const documentsOf = async (intent_id: string) => {
    const verdict = await verifyReceipt(lines.find((line) => line.includes(intent_id)) ?? "", { keys });
    return verdict.ok ? verdict.entries[0]?.documents : verdict.reason;
  };
  expect(await documentsOf(hidden)).toMatchObject({ intent: null, data: { verdict: "escalate" } });
  expect(await documentsOf(erased)).toEqual({ intent: null, facts: null, data: null });
});

test("the checkpoint of an ended period is one that a witness cosigned, if it covers the period", async () => {
  const alone = await reviewedOrganization(database.db, url);
  const intent_id = await submitted(heldBody, alone.agent);
  const receipt = (await call(url, "GET", `/v1/intents/${intent_id}/receipt`, { key: alone.operator })).json;
  const [body = ""] = receipt.checkpoint.split(/(?<=\n)\n/);
  const { org_id } = alone.org;
  await database.db.query(
    `insert into log_witnesses (org_id, witness, size, note, line, cosigned_at, next_at) values ($1, 'witness.example/w1', $2::bigint, $3, $4, now(), now())`,
    [org_id, receipt.entries[0].index + 1, receipt.checkpoint, witness.line(body, 1_795_868_000)],
  );
  await submitted(heldBody, alone.agent);
  const asOf = async (query: string) => {
    const response = await fileOf(query, alone.operator);
    return { as_of_seq: Number(response.headers.get("x-export-as-of-seq")), text: await response.text() };
  };
  // The witness has not cosigned the later decision.
  const all = await asOf("");
  expect(all.text).not.toContain("witness.example");
  expect(all.text.split("\n")).toHaveLength(3);
  const [decided] = (
    await call(url, "GET", `/v1/intents/${intent_id}/audit`, { key: alone.operator })
  ).json.audit.slice(-1);
  const ended = await asOf(`?to=${new Date(Date.now() - 3_600_000).toISOString()}`);
  expect(ended).toEqual({ as_of_seq: decided.seq, text: "" });
  expect(ended.as_of_seq).toBeLessThan(all.as_of_seq);
});

test("only those who read the audit trail get receipts, and only of their organization", async () => {
  for (const key of [of.agent, of.reviewer]) expect((await fileOf("", key)).status).toBe(403);
  const other = await reviewedOrganization(database.db, url, { packs: [] });
  expect(await receiptsOf("", other.admin)).toEqual([]);
  const bad = await call(url, "GET", "/v1/exports/receipts?from=yesterday", { key: of.operator });
  expect([bad.status, bad.json.error.code]).toEqual([400, "invalid_request"]);
});

test("other exports up to the same record have the same decisions, and a record that does not exist is refused", async () => {
  const response = await fileOf("");
  const as_of_seq = Number(response.headers.get("x-export-as-of-seq"));
  const ids = (await response.text())
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line).intent_id);
  await submitted();
  const linesOf = async (path: string) => {
    const response = await fetch(`${url}/v1/exports/${path}`, { headers: { "X-API-Key": of.operator } });
    return (await response.text()).split("\n").slice(0, -1);
  };
  const decisions = await linesOf(`decisions?format=jsonl&as_of_seq=${as_of_seq}`);
  expect(decisions.map((line) => JSON.parse(line).intent.intent_id)).toEqual(ids);
  const [newest = ""] = await linesOf(`audit?format=jsonl&as_of_seq=${as_of_seq}`);
  expect(JSON.parse(newest).seq).toBe(as_of_seq);
  for (const name of ["decisions", "audit"]) {
    const refused = await call(url, "GET", `/v1/exports/${name}?format=jsonl&as_of_seq=99999999`, { key: of.operator });
    expect(refused.status).toBe(400);
    expect(refused.json.error.details[0]).toMatchObject({ path: "/as_of_seq", code: "out_of_range" });
  }
});

test("every entry of the ledger is found by halvings", async () => {
  const { org_id } = of.org;
  const entries = await database.db.query<{ entry: number; seq: number }>(
    "select entry, seq from ledger where org_id = $1",
    [org_id],
  );
  expect(entries.length).toBeGreaterThan(before);
  for (const { entry, seq } of entries)
    expect(await database.db.tenant(org_id, (query) => seqOfEntry(query, org_id, entry))).toBe(seq);
});

test("without a checkpoint over the period, the service looks for three seconds and then refuses", async () => {
  const waits: number[] = [];
  const timers = {
    after: (wait_ms: number, run: () => void) => {
      waits.push(wait_ms);
      run();
      return () => undefined;
    },
  };
  const db = { tenant: async () => null } as unknown as typeof runtime.db;
  const caller = { org_id: "org_1", scope: "org", role: "auditor", agent_id: null } as unknown as Caller;
  const exporting = { ...runtime, db, timers };
  await expect(exportReceipts(exporting, caller, {})).rejects.toMatchObject({ code: "receipt_not_ready" });
  expect(waits.reduce((sum, each) => sum + each, 0)).toBe(3_000);
});
