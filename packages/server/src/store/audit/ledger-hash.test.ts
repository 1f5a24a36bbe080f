/** The database and the core compute the same leaves and hashes (decision 0030). */
import {
  changeLeaf,
  commitmentTo,
  decisionHash,
  decisionLeaf,
  formatTimestampUs,
  leafHash,
  type OfDocuments,
} from "@countersign/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter, runs } from "../../../../../scripts/property-runs.ts";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";

const { db } = await testDatabase();
const ids = createIds(createClock());

let entries = 0;

async function made(columns: Readonly<Record<string, string | null>>): Promise<{ leaf: string; hash: string }> {
  entries += 1;
  const all = Object.entries({ ...columns, org_id: "org_a", seq: String(entries), entry: String(entries), hash: "" });
  await db.query(
    `insert into ledger (${all.map(([name]) => name).join()}) values (${all.map((_, n) => `$${n + 1}`).join()})`,
    all.map(([, value]) => value),
  );
  const [row] = await db.query<{ leaf: string; hash: string }>(
    "select ledger_leaf(l) as leaf, encode(ledger_hash(ledger_leaf(l)), 'hex') as hash from ledger l where seq = $1",
    [entries],
  );
  return row as { leaf: string; hash: string };
}

const bytes = (digits: string): string => `\\x${digits}`;

const text = fc.string({ unit: anyCharacter, maxLength: 30 }).map((each) => each.replaceAll("\0", "\u0001"));
const at = fc.integer({ min: 0, max: 4_102_444_799_999_999 }).map(formatTimestampUs);
/** JSON texts with white space, which the hash covers. */
const document = fc.tuple(fc.json({ depthSize: "small" }), fc.constantFrom(0, 1, 2)).map(([json, indent]) => {
  return ` ${JSON.stringify(JSON.parse(json), null, indent)}\n`;
});
const salt = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((each) => Buffer.from(each).toString("hex"));
const ofDocuments = (of: fc.Arbitrary<string>): fc.Arbitrary<OfDocuments> =>
  fc.record({ intent: of, facts: of, data: of });
const orNull = <T>(of: T): fc.Arbitrary<T | null> => fc.constantFrom(of, null);

test("a change has the same leaf and hash in the database and the core", async () => {
  const header = fc.record({
    audit_id: fc.constant(ids.next("audit")),
    intent_id: orNull(ids.next("intent")),
    type: fc.constantFrom("key_created", "observed", "policy_activated"),
    actor: text,
    at,
  });
  await fc.assert(
    fc.asyncProperty(header, document, salt, async (change, data, data_salt) => {
      const leaf = changeLeaf(change, commitmentTo(data_salt, data));
      expect(await made({ ...change, data, data_salt: bytes(data_salt) })).toEqual({ leaf, hash: leafHash(leaf) });
    }),
    { numRuns: runs(300) },
  );
});

test("a decision has the same leaf and hash in the database and the core", async () => {
  const header = fc.record({
    intent_id: fc.nat().map(() => ids.next("intent")),
    decision_id: fc.constant(ids.next("decision")),
    membrane_id: fc.constant(ids.next("membrane")),
    agent_id: text,
    actor: text,
    lineage_id: orNull(ids.next("api_key")),
    mode: fc.constantFrom("live", "shadow", "test"),
    verdict: fc.constantFrom("approve", "approve_modified", "escalate", "block"),
    escalation_id: orNull(ids.next("escalation")),
    override_id: orNull(ids.next("override")),
    at,
  });
  await fc.assert(
    fc.asyncProperty(header, ofDocuments(document), ofDocuments(salt), async (decision, documents, salts) => {
      const { leaf, hash } = await made({
        ...{ ...decision, ...documents, type: "decided" },
        ...{ intent_salt: bytes(salts.intent), facts_salt: bytes(salts.facts), data_salt: bytes(salts.data) },
      });
      expect(leaf).toBe(
        decisionLeaf(decision, {
          intent: commitmentTo(salts.intent, documents.intent),
          facts: commitmentTo(salts.facts, documents.facts),
          data: commitmentTo(salts.data, documents.data),
        }),
      );
      expect(hash).toBe(decisionHash(decision, documents, salts));
    }),
    { numRuns: runs(300) },
  );
});

test("an entry with an erased document has no leaf and no hash", async () => {
  const change = {
    audit_id: ids.next("audit"),
    type: "key_created",
    actor: "system",
    at: "2026-11-21T03:36:48.123456Z",
  };
  expect(await made({ ...change, data: null, data_salt: null })).toEqual({ leaf: null, hash: null });
});
