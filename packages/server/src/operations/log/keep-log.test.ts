import {
  checkpointText,
  isExtension,
  isIncluded,
  type Note,
  parseNote,
  signatureBy,
  type TreeHash,
  verifierKeyText,
} from "@countersign/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../../scripts/property-runs.ts";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { createSealer } from "../../edge/start/sealer.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { readLogKeys } from "../../store/log/log-keys.ts";
import { readLogProblem } from "../../store/log/log-state.ts";
import { readCheckpoint, type SignedCheckpoint } from "../../store/log/read-checkpoint.ts";
import { consistencyProof, inclusionProof } from "../../store/log/read-proofs.ts";
import { createHead, withHead } from "../../store/organizations/heads.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { createLogKeeper, type LogKeeping } from "./keep-log.ts";
import { rotateLogKey } from "./rotate-log-key.ts";

const database = await testDatabase();
const { db } = database;
const clock = createClock();
const ids = createIds(clock);
const sealer = createSealer(Buffer.alloc(32, 7));
const never = () => false;
const runtime: LogKeeping = { db, clock, ids, sealer, log: silentLog, logName: () => "log.example" };
let organizations = 0;

async function newOrganization(): Promise<string> {
  organizations += 1;
  const org_id = `org_${String(organizations).padStart(26, "0")}`;
  await db.tenant(org_id, (query) => createHead(query, org_id, "2026-11"));
  return org_id;
}

const add = (org_id: string, entries: number) =>
  db.tenant(org_id, (query) =>
    withHead(query, org_id, {
      audit: Array.from({ length: entries }, () =>
        auditRow(ids, {
          intent_id: null,
          type: "key_revoked",
          actor: "usr_1",
          at: "2026-11-28T12:00:00.000000Z",
          data: {},
        }),
      ),
    }),
  );

const checkpointOf = async (org_id: string) =>
  (await db.tenant(org_id, (query) => readCheckpoint(query, org_id))) as SignedCheckpoint;

const leavesOf = async (org_id: string): Promise<TreeHash[]> =>
  (await db.query<{ hash: Buffer }>("select hash from ledger where org_id = $1 order by entry", [org_id])).map(
    ({ hash }) => hash,
  );

const keysOf = async (org_id: string) =>
  (await db.tenant(org_id, (query) => readLogKeys(query, org_id))).map(({ public_key }) => ({
    name: `log.example/${org_id}`,
    type: 1,
    public_key,
  }));

async function caughtUp(org_id: string, keeper = createLogKeeper(runtime)): Promise<SignedCheckpoint> {
  await keeper.pass(never);
  return checkpointOf(org_id);
}

test("a checkpoint is a note of the log's key over origin, size and root", async () => {
  const org_id = await newOrganization();
  await add(org_id, 3);
  const { origin, size, root, note } = await caughtUp(org_id);
  expect([origin, size]).toEqual([`log.example/${org_id}`, 3]);
  const signed = parseNote(note) as Note;
  expect(signed.text).toBe(checkpointText({ origin, size, root }));
  const [key] = await keysOf(org_id);
  expect(key && signatureBy(signed, key)).not.toBeNull();
  expect(signed.signatures).toHaveLength(1);
});

test("after any growth, by nodes that die at any statement, all proofs lead to checkpoints with one history", async () => {
  const step = fc.record({
    entries: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 200, max: 600 })),
    page: fc.constantFrom(1, 64, 4_096),
    dies_at: fc.option(fc.integer({ min: 1, max: 6 })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), fc.nat(), async (steps, at) => {
      const org_id = await newOrganization();
      const signed: SignedCheckpoint[] = [];
      for (const { entries, page, dies_at } of steps) {
        await add(org_id, entries);
        if (dies_at !== null)
          await createLogKeeper({ ...runtime, db: dying(dies_at) }, page)
            .pass(never)
            .catch(() => {});
        await Promise.all([caughtUp(org_id, createLogKeeper(runtime, page)), createLogKeeper(runtime).pass(never)]);
        signed.push(await caughtUp(org_id));
      }
      const leaves = await leavesOf(org_id);
      const last = signed.at(-1) as SignedCheckpoint;
      expect(last.size).toBe(leaves.length);
      for (const head of signed.filter(({ size }) => size > 0)) {
        const [index, { size, root }] = [at % head.size, head];
        const proof = await db.tenant(org_id, (query) => inclusionProof(query, org_id, index, size));
        expect(isIncluded({ index, size, root, leaf_hash: leaves[index] as TreeHash }, proof)).toBe(true);
        const extension = await db.tenant(org_id, (query) => consistencyProof(query, org_id, size, last.size));
        expect(isExtension(head, last, extension)).toBe(true);
      }
    }),
    { numRuns: runs(100) },
  );
});

/** The node dies at the n-th statement. */
function dying(statement: number): LogKeeping["db"] {
  let asked = 0;
  return {
    system: (work) => db.system(work),
    tenant: (org_id, work) =>
      db.tenant(org_id, (query) =>
        work((text, params) => {
          asked += 1;
          if (asked === statement) throw new Error("killed");
          return query(text, params);
        }),
      ),
  };
}

test("an earlier ledger is taken up in pages, and other organizations get their turn between them", async () => {
  const [long, short] = [await newOrganization(), await newOrganization()];
  await add(long, 2_000);
  await add(short, 1);
  const keeper = createLogKeeper(runtime, 100);
  await keeper.pass(never);
  expect((await checkpointOf(long)).size).toBeLessThan(2_000);
  expect((await checkpointOf(short)).size).toBe(1);
  expect(keeper.behind()).toBeGreaterThan(0);
  while (keeper.behind() > 0) await keeper.pass(never);
  expect((await checkpointOf(long)).size).toBe(2_000);
});

async function refused(org_id: string, keeper = createLogKeeper(runtime)) {
  const before = await db.query("select note from logs where org_id = $1", [org_id]);
  await keeper.pass(never);
  await keeper.pass(never);
  const [after] = await db.query<{ note: string; problem: string }>(
    "select note, problem from logs where org_id = $1",
    [org_id],
  );
  expect([after?.note]).toEqual(before.map(({ note }) => note));
  expect(keeper.failing()).toBe(1);
  const stopped = await db.tenant(org_id, (query) => readLogProblem(query, org_id));
  expect([stopped?.problem, stopped?.since]).toEqual([after?.problem, expect.any(String)]);
  await db.query("delete from org_heads where org_id = $1", [org_id]);
  return after?.problem;
}

test.each([
  ["the last entry is deleted", "delete from ledger where org_id = $1 and entry = 299", "changed"],
  ["the head is set back", "update org_heads set audit_seq = 200, entries = 200 where org_id = $1", "shrunk"],
  ["an entry's hash is changed", "update ledger set hash = sha256('x') where org_id = $1 and entry = 290", "changed"],
  ["an entry is moved", "update ledger set entry = 1000 where org_id = $1 and entry = 290", "changed"],
  ["a tile is changed", "update log_tiles set hash = sha256('x') where org_id = $1 and level = 0", "changed"],
  ["a tile is deleted", "delete from log_tiles where org_id = $1", "changed"],
  ["the log's root is changed", "update logs set root = sha256('x') where org_id = $1", "changed"],
  ["the log is set to another size", "update logs set size = 299 where org_id = $1", "changed"],
])("if %s, nothing is signed, and other organizations go on", async (_, statement, problem) => {
  const [org_id, other] = [await newOrganization(), await newOrganization()];
  await add(org_id, 300);
  await caughtUp(org_id);
  await db.query(statement, [org_id]);
  await add(org_id, 1).catch(() => undefined);
  await add(other, 1);
  expect(await refused(org_id)).toBe(problem);
  expect((await checkpointOf(other)).size).toBe(1);
});

test.each([
  ["is smaller", 0, "shrunk"],
  ["grew differently", 20, "changed"],
])("a node does not sign for an older copy of the database, which %s", async (_, entries, problem) => {
  const org_id = await newOrganization();
  await add(org_id, 10);
  const keeper = createLogKeeper(runtime);
  await keeper.pass(never);
  const snapshot = await db.query<{ row: object }>("select to_jsonb(l) as row from logs l where org_id = $1", [org_id]);
  await add(org_id, 5);
  await keeper.pass(never);
  expect((await checkpointOf(org_id)).size).toBe(15);
  // The copy from before: rows of the log and of the ledger together.
  await db.query("delete from ledger where org_id = $1 and entry >= 10", [org_id]);
  await db.query("update org_heads set audit_seq = 10, entries = 10 where org_id = $1", [org_id]);
  await db.query("delete from logs where org_id = $1", [org_id]);
  await db.query("insert into logs select (jsonb_populate_record(null::logs, $1::jsonb)).*", [
    JSON.stringify(snapshot[0]?.row),
  ]);
  await add(org_id, entries);
  if (entries > 0) {
    await createLogKeeper(runtime).pass(never);
    await add(org_id, 1);
  }
  expect(await refused(org_id, keeper)).toBe(problem);
});

test("without the master key of the log's key nothing is signed, until a rotation without overlap", async () => {
  const org_id = await newOrganization();
  await add(org_id, 3);
  const before = await caughtUp(org_id);
  await add(org_id, 2);
  const errors: string[] = [];
  const log = { ...silentLog, error: (_: object, message: string) => void errors.push(message) };
  const lost: LogKeeping = { ...runtime, log, sealer: createSealer(Buffer.alloc(32, 8)) };
  const keeper = createLogKeeper(lost);
  expect(await caughtUp(org_id, keeper)).toEqual(before);
  expect(errors).toEqual([
    expect.stringMatching(/^the log could not be kept: sealed with the master key [0-9a-f]{16},/),
  ]);
  expect(keeper.failing()).toBe(1);

  const ended = { key_id: null, session_id: null, lineage_id: null, user_id: null };
  const { verifier_key } = await rotateLogKey(
    { ...lost, db },
    { org_id, actor: "system", ...ended },
    { overlap_days: 0 },
  );
  const after = await caughtUp(org_id, keeper);
  expect(after.size).toBe(6);
  expect(keeper.failing()).toBe(0);
  const newest = (await keysOf(org_id)).filter((key) => signatureBy(parseNote(after.note) as Note, key) !== null);
  expect(newest.map(verifierKeyText)).toEqual([verifier_key]);
});
