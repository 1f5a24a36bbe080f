/** Source: docs/decisions/0034. */
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { openDb } from "../../src/store/database/db.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";
import { activatePayPolicy, reviewedOrganization } from "../../src/testing/people/review.ts";
import { whenFileIsDone } from "../../src/testing/when-file-is-done.ts";

const database = await testDatabase();
const { db, connection } = database;
const secondDb = openDb(connection, silentLog);
whenFileIsDone(() => secondDb.close());
const urls = [(await serviceNode(database)).url, (await serviceNode({ ...database, db: secondDb })).url] as const;

const clients = 64;
const rounds = runs(200) === 200 ? 200 : 3;

const intent = (content: object) => ({
  intent: { agent: { id: "agent-1" }, action: { verb: "pay" }, payload: { content } },
});

/** One act of a client: its times, and whether an action passed. */
interface Asked {
  readonly began: number;
  readonly ended: number;
  readonly passed: boolean;
}

test("64 clients on two nodes: nothing passes that began after a freeze's answer, or follows it in the ledger", async () => {
  const of = await reviewedOrganization(db, urls[0], { packs: [] });
  await activatePayPolicy(urls[0], of, "ask", { when: "params.kind == 'held'", escalation: {} });
  await activatePayPolicy(urls[0], of, "stop", { when: "params.kind == 'stopped'", escalation: {}, effect: "block" });
  const maker = await of.org.key({ role: "admin" });
  const made = await call(urls[0], "POST", "/v1/api-keys", { key: maker.api_key, body: { role: "agent" } });
  const key: string = made.json.api_key;

  const post = async (url: string, path: string, as: string, body: object) =>
    (await call(url, "POST", path, { key: as, body })).json;
  /** Submits until there is a decision. Each override makes concurrent decisions stale, so some answers are 503. */
  const submit = async (url: string, kind: string, n: number) => {
    for (;;) {
      const { decision, error } = await post(url, "/v1/intents", key, intent({ kind, n }));
      if (decision !== undefined) return decision;
      // Under `escalate` every action opens a review, until the queue is full.
      if (error.code === "review_queue_full")
        return { verdict: error.code, intent_id: "int_none", escalation_id: null };
      expect(["unavailable", "overloaded"]).toContain(error.code);
    }
  };
  const passes = (decision: { verdict: string }) => decision.verdict.startsWith("approve");

  /** Most clients submit, some approve reviews, some override blocks. */
  const acts: Record<string, (url: string, n: number) => Promise<boolean>> = {
    submits: async (url, n) => passes(await submit(url, "plain", n)),
    rules: async (url, n) => {
      const { escalation_id } = await submit(url, "held", n);
      if (escalation_id === null) return false;
      const ruled = await post(url, `/v1/escalations/${escalation_id}/decision`, of.reviewer, { outcome: "approve" });
      return ruled.escalation?.resolution?.outcome === "approve";
    },
    overrides: async (url, n) => {
      const { intent_id } = await submit(url, "stopped", n);
      await post(url, `/v1/intents/${intent_id}/override`, of.operator, { reason: "seen" });
      return passes(await submit(url, "stopped", n));
    },
  };
  const actOf = (client: number) => (client % 16 === 14 ? "rules" : client % 32 === 31 ? "overrides" : "submits");

  const asked: Asked[] = [];
  let running = true;
  let noteEnd: (began: number, client: number) => void = () => undefined;
  const submitting = Array.from({ length: clients }, (_, client) => client).filter((each) => actOf(each) === "submits");
  /** Resolves when each submitting client has finished an act begun after this call. */
  const allAsked = () => {
    const from = performance.now();
    const left = new Set(submitting);
    return new Promise<void>((resolve) => {
      noteEnd = (began, client) => {
        if (began >= from && left.delete(client) && left.size === 0) resolve();
      };
    });
  };
  const working = Array.from({ length: clients }, async (_, client) => {
    for (let n = client; running; n += clients) {
      const began = performance.now();
      const passed = await (acts[actOf(client)] as (typeof acts)[string])(urls[client % 2] as string, n);
      asked.push({ began, ended: performance.now(), passed });
      noteEnd(began, client);
    }
  });

  const targets = ["/v1/agents/AGENT-1", `/v1/api-keys/${maker.key_id}`, "/v1/organization"];
  const frozen: { readonly answered: number; readonly ended: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const [path, url] = [targets[round % 3], urls[round % 2] as string];
    // No admin reviews here, so nothing passes under `escalate` either.
    const mode = round % 4 === 3 ? "escalate" : "block";
    const { freeze } = await post(url, `${path}/freeze`, of.operator, { mode, reason: "race" });
    expect(freeze.mode).toBe(mode);
    const answered = performance.now();
    await Promise.race([allAsked(), ...working]);
    const ended = performance.now();
    expect((await post(url, `${path}/unfreeze`, of.admin, { reason: "race" })).unfrozen).toBe(true);
    frozen.push({ answered, ended });
    await Promise.race([allAsked(), ...working]);
  }
  running = false;
  await Promise.all(working);

  const within = asked.filter(({ began }) => frozen.some(({ answered, ended }) => began > answered && began < ended));
  expect(within.length).toBeGreaterThanOrEqual(rounds * submitting.length);
  const whole = asked.filter((each) =>
    frozen.some((freeze) => each.began > freeze.answered && each.ended < freeze.ended),
  );
  expect(whole.length).toBeGreaterThanOrEqual(rounds);
  expect(whole.filter(({ passed }) => passed)).toEqual([]);
  expect(asked.some(({ passed }) => passed)).toBe(true);
  expect(await passedWhileFrozen(of.org.org_id)).toEqual([]);
  expect(await approvedIn(of.org.org_id)).toBeGreaterThan(0);
}, 900_000);

function passedWhileFrozen(org_id: string) {
  return db.system((query) =>
    query(
      `select l.seq, l.type, l.verdict from ledger l where l.org_id = $1
         and (select f.type from ledger f where f.org_id = $1 and f.seq < l.seq and f.type in ('frozen', 'unfrozen')
           order by f.seq desc limit 1) = 'frozen'
         and (l.type = 'overridden' or l.verdict in ('approve', 'approve_modified') or l.override_id is not null
           or l.type in ('reviewed', 'timed_out') and l.data ->> 'outcome' <> 'block')`,
      [org_id],
    ),
  );
}

async function approvedIn(org_id: string): Promise<number> {
  const rows = await db.system((query) =>
    query("select from ledger where org_id = $1 and (type = 'reviewed' or override_id is not null)", [org_id]),
  );
  return rows.length;
}
