import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import type { ExportLine, OrgAuditRecord } from "@countersign/contract";
import { parquetReadObjects } from "hyparquet";
import type { Static } from "typebox";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, httpNode } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { activatePayPolicy, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";
import { sideBySide } from "../../src/testing/side-by-side.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
let org: Reviewed;

/** More than two pages. */
const rows_before = 403;
const formula = '=HYPERLINK("http://evil.example","click"),\nnext line';

async function submit(verb: string, identifier: string, content: object = {}, agent = "agent-1") {
  const intent = {
    agent: { id: agent },
    action: { type: "payment.transfer", verb, target: { type: "account", identifier } },
    payload: { summary: formula, content },
    estimated_impact: { financial_exposure_usd: 12.5 },
  };
  const answer = await call(url, "POST", "/v1/intents", { key: org.agent, body: { intent } });
  expect(answer.status).toBe(201);
  return answer.json.intent_id as string;
}

const fileOf = (path: string, key: string) => fetch(`${url}/v1/exports/${path}`, { headers: { "X-API-Key": key } });

/** Reads CSV with the reader of Python. */
function csvRows(text: string): Record<string, string>[] {
  const script =
    "import csv,io,json,sys; print(json.dumps(list(csv.DictReader(io.StringIO(sys.stdin.buffer.read().decode('utf-8'), newline='')))))";
  return JSON.parse(execFileSync("python3", ["-c", script], { input: text, encoding: "utf8", maxBuffer: 1 << 26 }));
}

beforeAll(async () => {
  org = await reviewedOrganization(database.db, url, { packs: [] });
  const names = Array.from({ length: rows_before - 1 }, (_, at) => `acc_${at}`);
  await sideBySide(names, (name) => submit("pay", name));
  await submit("pay", "-1+2 ünïcode");
});

test("CSV, JSON Lines and Parquet have each row once, newest first, as other programs read them", async () => {
  const csv = csvRows(await (await fileOf("decisions?format=csv", org.admin)).text());
  const jsonl = (await (await fileOf("decisions?format=jsonl", org.admin)).text()).split("\n").slice(0, -1);
  const file = await (await fileOf("decisions?format=parquet", org.admin)).arrayBuffer();
  const parquet = await parquetReadObjects({ file });
  const ids = csv.map(({ intent_id }) => intent_id as string);
  expect(new Set(ids).size).toBe(rows_before);
  expect(ids).toEqual([...ids].sort().reverse());
  expect(jsonl.map((line) => JSON.parse(line).intent.intent_id)).toEqual(ids);
  expect(parquet.map(({ intent_id }) => intent_id)).toEqual(ids);
  const { submitted_at, amount_usd, verdict, enforced } = parquet[0] ?? {};
  expect({ amount_usd, verdict, enforced }).toEqual({ amount_usd: 12.5, verdict: "approve", enforced: true });
  expect(submitted_at).toEqual(new Date(csv[0]?.["submitted_at"] as string));
});

test("a spreadsheet shows the texts of an agent instead of running them, and numbers stay numbers", async () => {
  const [row] = csvRows(await (await fileOf("decisions?format=csv", org.admin)).text());
  expect(row).toMatchObject({ summary: `'${formula}`, target: "'-1+2 ünïcode", amount_usd: "12.5" });
});

test("the file has the rows of its filter", async () => {
  const intent_id = await submit("refund", "acc_1", {}, "agent-2");
  const response = await fileOf("decisions?format=csv&agent_id=agent-2", org.admin);
  expect(csvRows(await response.text()).map((row) => row["intent_id"])).toEqual([intent_id]);
  expect(response.headers.get("content-disposition")).toBe('attachment; filename="decisions.csv"');
  expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
});

test("rows that are written after the export began are not in it", async () => {
  const response = await fileOf("decisions?format=jsonl", org.admin);
  const later = await submit("pay", "later");
  const text = await response.text();
  expect(text).not.toContain(later);
  expect(text).toContain("acc_0");
});

test("lines report the progress, and the last one the size and the hash of the file", async () => {
  const headers = { "X-API-Key": org.admin, Accept: "application/x-ndjson" };
  const response = await fetch(`${url}/v1/exports/audit?format=csv`, { headers });
  const lines = (await response.text()).trim().split("\n");
  const parsed = lines.map((line) => JSON.parse(line) as Static<typeof ExportLine>);
  const last = parsed.pop();
  const parts = parsed.map((line) => ("part" in line ? line : expect.fail("not a part")));
  const bytes = Buffer.concat(parts.map(({ part }) => Buffer.from(part, "base64")));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const as_of_seq = Number(response.headers.get("x-export-as-of-seq"));
  const rows = csvRows(bytes.toString());
  expect(last).toEqual({ export: { rows: rows.length, bytes: bytes.length, sha256, as_of_seq } });
  const shares = parts.map(({ progress }) => progress.done);
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(shares.at(-1)).toBe(1);
});

test("an exported audit trail has every record without a gap, as the list shows it", async () => {
  const response = await fileOf("audit?format=jsonl", org.operator);
  const records = (await response.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as OrgAuditRecord);
  const as_of_seq = Number(response.headers.get("x-export-as-of-seq"));
  expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: as_of_seq }, (_, at) => as_of_seq - at));
  const { audit } = (await call(url, "GET", "/v1/audit?limit=200", { key: org.operator })).json;
  expect(records.filter(({ seq }) => seq >= audit.at(-1).seq)).toEqual(audit);
  expect((await fileOf("audit?format=csv", org.reviewer)).status).toBe(403);
});

test("a listed audit record says which action it is about", async () => {
  const intent_id = await submit("refund", "cus_3000");
  const { audit } = (await call(url, "GET", "/v1/audit?type=decided&limit=1", { key: org.operator })).json;
  const action = {
    agent_id: "agent-1",
    type: "payment.transfer",
    verb: "refund",
    target: "cus_3000",
    amount_usd: 12.5,
  };
  expect(audit[0]).toMatchObject({ intent_id, about: action });
});

test("a key of an agent exports its own intents, and no others", async () => {
  const { api_key } = await org.org.key({ role: "agent" });
  expect(await (await fileOf("decisions?format=jsonl", api_key)).text()).toBe("");
  const own = await (await fileOf("decisions?format=jsonl&agent_id=agent-2", org.agent)).text();
  expect(own.split("\n")).toHaveLength(2);
});

test("a file has no value that a rule hides, also for the key that submitted it", async () => {
  const spec = { match: { verbs: ["hide"] }, when: "true", effect: "approve_modified" };
  const modify = [
    { op: "redact", path: "/iban" },
    { op: "mask", path: "/pin" },
  ];
  const policy = {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name: "hide" },
    spec: { ...spec, modify },
  };
  const saved = await call(url, "POST", "/v1/policies", { key: org.admin, body: { policy } });
  await call(url, "POST", `/v1/policies/${saved.json.policy.policy_id}/activate`, {
    key: org.admin,
    body: { mode: "live" },
  });
  const secrets = ["DE02120300000000202051", "pin 4711-x", "hunter2!"];
  const [iban, pin, password] = secrets;
  await submit("hide", `${iban}`, { iban, pin, password, note: "shown" });
  for (const key of [org.admin, org.agent]) {
    for (const format of ["csv", "jsonl"]) {
      const text = await (await fileOf(`decisions?format=${format}`, key)).text();
      expect(text).toContain("shown");
      for (const secret of secrets) expect(text).not.toContain(secret);
    }
  }
  const { text } = await call(url, "GET", "/v1/audit?type=decided&limit=1", { key: org.operator });
  for (const secret of secrets) expect(text).not.toContain(secret);
});

test("an outcome by people is in the row of its decision", async () => {
  await activatePayPolicy(url, org, "ask", { when: 'params.ask == "people"', escalation: {} });
  const intent_id = await submit("pay", "asked", { ask: "people" });
  const { escalations } = (await call(url, "GET", "/v1/escalations?status=pending", { key: org.reviewer })).json;
  const path = `/v1/escalations/${escalations[0].escalation_id}/decision`;
  await call(url, "POST", path, { key: org.reviewer, body: { outcome: "block", comment: "no" } });
  const rows = csvRows(await (await fileOf("decisions?format=csv&verdict=escalate", org.admin)).text());
  expect(rows[0]).toMatchObject({
    intent_id,
    verdict: "escalate",
    outcome: "block",
    escalation_status: "decided",
    policies: "ask",
  });
});

test("an export that fails breaks the connection, so that nobody takes a part for the whole", async () => {
  const file = async function* () {
    yield Buffer.from("seq\r\n1\r\n");
    throw new Error("the database is gone");
  };
  const { url: broken } = await httpNode(database.db, {
    handlers: { exportAudit: async () => ({ status: 200, file: file(), headers: { "Content-Type": "text/csv" } }) },
  });
  const response = await fetch(`${broken}/v1/exports/audit?format=csv`, { headers: { "X-API-Key": org.admin } });
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow("terminated");
});
