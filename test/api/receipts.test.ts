import { parseVerifierKey, type VerifierKey } from "@countersign/core";
import { createClient } from "@countersign/sdk";
import { type ReceiptVerdict, verifyReceipt } from "@countersign/sdk/verify";
import { beforeAll, describe, expect, test } from "vitest";
import { readReceipt } from "../../packages/server/src/operations/log/read-receipt.ts";
import type { Caller } from "../../packages/server/src/operations/shared/caller.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { heldBody, type Reviewed, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";
import { witnessSigner } from "../evidence/signing.ts";

const database = await testDatabase();
const witness = witnessSigner("witness.example/w1", "witness");
const witness_key = parseVerifierKey(witness.verifier_key) as VerifierKey;
const { url, runtime } = await serviceNode(database, { config: { public_url: "https://countersign.example/here" } });
// Known, but not asked.
Object.assign(runtime.settings, { log_witnesses: [witness_key] });
let of: Reviewed;
let other: Reviewed;
beforeAll(async () => {
  of = await reviewedOrganization(database.db, url);
  other = await reviewedOrganization(database.db, url, { packs: [] });
});

const heldFacts = { origins: expect.any(Array) };

type Genuine = Extract<ReceiptVerdict, { ok: true }>;

const client = (api_key: string) => createClient({ base_url: url, api_key, retries_max: 20 });
const keysOf = async (key: string) => (await client(key).listLogKeys()).map(({ verifier_key }) => verifier_key);

async function submitted(key: string, body: object): Promise<string> {
  return (await call(url, "POST", "/v1/intents", { key, body })).json.intent_id;
}

async function verified(intent_id: string, key: string): Promise<Genuine> {
  const verdict = await verifyReceipt(await client(key).getIntentReceipt(intent_id), { keys: await keysOf(key) });
  if (!verdict.ok) throw new Error(verdict.reason);
  return verdict;
}

test("a receipt of a reviewed and executed action verifies, with every entry in order", async () => {
  const intent_id = await submitted(of.agent, heldBody);
  const { escalations } = (await call(url, "GET", "/v1/escalations", { key: of.reviewer })).json;
  const review = `/v1/escalations/${escalations[0].escalation_id}/decision`;
  const vote = await call(url, "POST", review, { key: of.reviewer, body: { outcome: "approve", comment: "calm now" } });
  expect(vote.status).toBe(200);
  await call(url, "POST", `/v1/intents/${intent_id}/claim`, { key: of.agent, body: { nonce: "one" } });
  await call(url, "POST", `/v1/intents/${intent_id}/observations`, { key: of.agent, body: { status: "executed" } });
  const { entries, checkpoint, not_proved } = await verified(intent_id, of.operator);
  expect(entries.map(({ type }) => type)).toEqual(["decided", "voted", "reviewed", "claimed", "observed"]);
  expect(entries[0]?.documents["intent"]).toMatchObject({ submitted: heldBody.intent });
  expect(entries[0]?.documents["data"]).toMatchObject({ intent_id, verdict: "escalate" });
  expect(entries[1]?.documents["data"]).toMatchObject({ outcome: "approve", comment: "calm now" });
  expect(checkpoint.origin).toBe(`countersign.example/${of.org.org_id}`);
  expect(not_proved).toContain("That the action had the reported outcome: the agent reported it.");
});

test("the tlog-proof has the leaf, its index, its path and the checkpoint, as C2SP writes them", async () => {
  const intent_id = await submitted(of.agent, heldBody);
  const receipt = JSON.parse(await client(of.operator).getIntentReceipt(intent_id));
  const answer = await call(url, "GET", `/v1/intents/${intent_id}/receipt?format=tlog-proof`, { key: of.operator });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  const [head, extra = "", index, ...rest] = answer.text.split("\n");
  const [{ leaf, index: at, proof }] = receipt.entries;
  expect([head, index]).toEqual(["c2sp.org/tlog-proof@v1", `index ${at}`]);
  expect(Buffer.from(extra.replace("extra ", ""), "base64").toString()).toBe(leaf);
  // The next checkpoint may be signed between both requests.
  expect(rest.indexOf("")).toBe(proof.length);
  expect(rest.slice(rest.indexOf("") + 1).join("\n")).toMatch(
    /^countersign\.example\/org_.+\n\d+\n.{44}\n\n(?:— .+\n)+$/,
  );
});

test("a request that prefers text/plain gets the tlog-proof, and `format` counts more than Accept", async () => {
  const intent_id = await submitted(of.agent, heldBody);
  const ask = async (accept: string, query = "") => {
    const headers = { "X-API-Key": of.operator, accept };
    const response = await fetch(`${url}/v1/intents/${intent_id}/receipt${query}`, { headers });
    expect([response.status, response.headers.get("vary")]).toEqual([200, "Accept"]);
    const text = await response.text();
    const is_proof = text.startsWith("c2sp.org/tlog-proof@v1\n");
    expect(response.headers.get("content-type")).toBe(
      is_proof ? "text/plain; charset=utf-8" : "application/json; charset=utf-8",
    );
    return is_proof ? "tlog-proof" : JSON.parse(text).format;
  };
  for (const accept of ["text/plain", "text/plain, */*;q=0.1", "application/json;q=0.5, text/plain"])
    expect([accept, await ask(accept)]).toEqual([accept, "tlog-proof"]);
  for (const accept of ["*/*", "application/json, text/plain, */*", "application/json", "image/png", ";;", ""])
    expect([accept, await ask(accept)]).toEqual([accept, "countersign.receipt.v1"]);
  expect(await ask("text/plain", "?format=json")).toBe("countersign.receipt.v1");
  expect(await ask("application/json", "?format=tlog-proof")).toBe("tlog-proof");
});

test("documents with hidden values are withheld from people, and the receipt still verifies", async () => {
  const content = { password: "correct horse", version: 4 };
  const body = { ...heldBody, intent: { ...heldBody.intent, payload: { content } } };
  const intent_id = await submitted(of.agent, body);
  const text = await client(of.admin).getIntentReceipt(intent_id);
  expect(text).not.toContain("correct horse");
  const { entries, not_proved } = await verified(intent_id, of.admin);
  expect(entries[0]?.documents).toMatchObject({ intent: null, facts: heldFacts, data: { verdict: "escalate" } });
  expect(not_proved.join()).toContain("What these documents said, which were erased or withheld: intent of entry");
});

test("a receipt has the cosignatures of the newest checkpoint that a witness cosigned", async () => {
  const intent_id = await submitted(of.agent, heldBody);
  const plain = JSON.parse(await client(of.operator).getIntentReceipt(intent_id));
  // The witness cosigns this checkpoint. The log grows meanwhile.
  await submitted(of.agent, heldBody);
  const [body = ""] = plain.checkpoint.split(/(?<=\n)\n/);
  await database.db.query(
    `insert into log_witnesses (org_id, witness, size, note, line, cosigned_at, next_at) values ($1, $2, $3::bigint, $4, $5, now(), now())`,
    [
      of.org.org_id,
      "witness.example/w1",
      Number(body.split("\n")[1]),
      plain.checkpoint,
      witness.line(body, 1_795_868_000),
    ],
  );
  const keys = [...(await keysOf(of.operator)), witness.verifier_key];
  const verdict = await verifyReceipt(await client(of.operator).getIntentReceipt(intent_id), { keys });
  const seen = "The witness witness.example/w1 saw this log at 2026-11-28T12:13:20Z and found that it had only grown.";
  expect(verdict).toMatchObject({ ok: true, proved: expect.arrayContaining([seen]) });
});

describe("only those who read the audit trail of the organization get a receipt", () => {
  test.each(["agent", "reviewer"] as const)("not a key of role %s", async (role) => {
    const intent_id = await submitted(of.agent, heldBody);
    const { status } = await call(url, "GET", `/v1/intents/${intent_id}/receipt`, { key: of[role] });
    expect(status).toBe(403);
  });

  test("not another organization, which gets the answer for an unknown intent", async () => {
    const intent_id = await submitted(of.agent, heldBody);
    const foreign = await call(url, "GET", `/v1/intents/${intent_id}/receipt`, { key: other.admin });
    const unknown = await call(url, "GET", "/v1/intents/int_01KB0000000000000000000000/receipt", { key: other.admin });
    expect([foreign.status, foreign.json.error.code]).toEqual([404, "not_found"]);
    expect([unknown.status, unknown.json.error.code]).toEqual([404, "not_found"]);
  });
});

test("without a checkpoint over the newest entry, the service looks for three seconds and then refuses", async () => {
  const waits: number[] = [];
  const timers = {
    after: (wait_ms: number, run: () => void) => {
      waits.push(wait_ms);
      run();
      return () => undefined;
    },
  };
  const db = { tenant: async () => null } as unknown as Parameters<typeof readReceipt>[0]["db"];
  const reading = readReceipt({ db, timers, settings: { log_witnesses: [] } }, { org_id: "org_1" } as Caller, "int_1");
  await expect(reading).rejects.toMatchObject({ code: "receipt_not_ready" });
  expect(waits.reduce((sum, each) => sum + each, 0)).toBe(3_000);
});
