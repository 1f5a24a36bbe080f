/** A commit whose answer was lost counts once. Source: docs/decisions/0047. */
import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import type { Query } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { openNetwork } from "../../src/testing/network/network.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { limitedOrganization, payment, shownSpent, spentByAgent } from "../../src/testing/people/limits.ts";
import type { Reviewed } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
const near = await serviceNode(database);

/** Starts a node whose commits go through a network that the test can break, and an organization with a limit of 1,000. */
async function farNode() {
  const network = await openNetwork(database.connection);
  onTestFinished(() => network.close());
  const far = await serviceNode({ ...database, connection: network.connection });
  const spec = { ...spentByAgent, when: "count.spent.sum > 1000.0", effect: "block" };
  return { network, far, org: await limitedOrganization(db, near.url, { limit: spec }) };
}

async function submit(url: string, { agent: key }: Reviewed, amount: number, idempotency_key: string = randomUUID()) {
  const headers = { "Idempotency-Key": idempotency_key };
  return call(url, "POST", "/v1/intents", { key, body: payment(amount), headers });
}

/** Runs `meanwhile` while the organization's head is locked, so that commits wait in the database. */
async function whileLocked({ org }: Reviewed, meanwhile: (query: Query) => Promise<void>): Promise<void> {
  await db.system(async (query) => {
    await query("select from org_heads where org_id = $1 for update", [org.org_id]);
    await meanwhile(query);
  });
}

const waitingWriters = `select distinct a.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where not l.granted and a.datname = current_database() and a.application_name = 'countersign commit writer'`;

async function sessionsWait(count: number): Promise<void> {
  await expect.poll(async () => (await db.query(waitingWriters)).length).toBe(count);
}

async function storedEntries({ org }: Reviewed): Promise<readonly { readonly intent_id: string }[]> {
  return db.query("select intent_id from counter_entries where org_id = $1", [org.org_id]);
}

test("an approval whose commit was sent when the connection broke counts once", async () => {
  const { network, far, org } = await farNode();
  expect((await submit(far.url, org, 100)).json.decision.verdict).toBe("approve");
  let answer: ReturnType<typeof submit> | undefined;
  await whileLocked(org, async () => {
    answer = submit(far.url, org, 700);
    await sessionsWait(1);
    network.cut();
    // The server still runs the first call, and the writer has sent it again.
    await sessionsWait(2);
  });
  const { json } = (await answer) ?? {};
  expect(json.decision.verdict).toBe("approve");
  expect(await shownSpent(near.url, org)).toEqual({ n: 2, sum: 800, waiting_sum: 0 });
  expect((await storedEntries(org)).filter(({ intent_id }) => intent_id === json.intent_id)).toHaveLength(1);
  for (const { url } of [far, near]) {
    expect((await submit(url, org, 201)).json.decision.verdict).toBe("block");
    expect((await submit(url, org, 100)).json.decision.verdict).toBe("approve");
  }
});

test("a commit that ended with its session is sent again, and is decided again if another node has spent meanwhile", async () => {
  const { far, org } = await farNode();
  expect((await submit(far.url, org, 100)).json.decision.verdict).toBe("approve");
  let answers: Promise<readonly Awaited<ReturnType<typeof submit>>[]> | undefined;
  await whileLocked(org, async (query) => {
    const lost = submit(far.url, org, 700);
    await sessionsWait(1);
    // The sessions use the tests' own role, which the role after a switch may not end.
    await query("set local role none");
    await query(`select pg_terminate_backend(pid) from (${waitingWriters}) w`);
    answers = Promise.all([lost, submit(near.url, org, 300)]);
    await sessionsWait(2);
  });
  const verdicts = (await answers)?.map(({ json }) => json.decision.verdict) ?? [];
  expect(verdicts.toSorted()).toEqual(["approve", "block"]);
  const sum = verdicts[0] === "approve" ? 800 : 400;
  expect(await shownSpent(near.url, org)).toEqual({ n: 2, sum, waiting_sum: 0 });
});

test("32 clients spend exactly 994 of 1,000 in steps of 7 while connections break and each request is sent to two nodes", async () => {
  const { network, far, org } = await farNode();
  const approved = new Set<string>();
  let cuts = 0;

  /** Sends the request with the same Idempotency-Key until a node answers. Returns the answers. */
  async function submitTwice(): Promise<readonly { intent_id: string; decision: { verdict: string } }[]> {
    for (const key = randomUUID(); ; ) {
      const answers = await Promise.all([far.url, near.url].map((url) => submit(url, org, 7, key)));
      const answered = answers.filter(({ status }) => status !== 503);
      if (answered.length > 0) return answered.map(({ json }) => json);
    }
  }

  async function spendAll(): Promise<void> {
    for (;;) {
      const answers = await submitTwice();
      for (const { intent_id, decision } of answers) if (decision.verdict === "approve") approved.add(intent_id);
      if (answers.some(({ decision }) => decision.verdict === "block")) return;
      if (approved.size < (cuts + 1) * 15) continue;
      cuts += 1;
      network.cut();
    }
  }

  await Promise.all(Array.from({ length: 32 }, spendAll));
  const stored = (await storedEntries(org)).map(({ intent_id }) => intent_id);
  expect(stored).toHaveLength(142);
  expect(stored.toSorted()).toEqual([...approved].toSorted());
  expect(cuts).toBe(9);
});
