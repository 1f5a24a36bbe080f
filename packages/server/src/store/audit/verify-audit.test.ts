import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { timers } from "../../edge/timers.ts";
import type { Query } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { commitAll, decisionRows } from "../../testing/database/decision-rows.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { foundAfter } from "../../testing/undone.ts";
import { connectCommit, createCommitWriter } from "../commit/commit-writer.ts";
import { createHead, withHead } from "../organizations/heads.ts";
import { auditRow } from "./audit.ts";
import { type AuditFinding, verifyAudit } from "./verify-audit.ts";

const clock = createClock();
const ids = createIds(clock);
const { connection, db } = await testDatabase();
const org_id = ids.next("organization");
const [blocked, held, last] = [4, 7, 9];
let noted: string;

/** Four commits: two changes; a decision; a held decision; two changes. */
beforeAll(async () => {
  const writer = createCommitWriter({ connect: connectCommit(connection), log: silentLog, clock, timers });
  afterAll(() => writer.close());
  const at = "2026-11-21T03:36:48.123456Z";
  const change = (n: number) =>
    auditRow(ids, { intent_id: null, type: "key_created", actor: 'key_é"', at, data: { n } });
  const append = () => db.tenant(org_id, (query) => withHead(query, org_id, { audit: [change(1), change(2)] }));
  await db.tenant(org_id, (query) => createHead(query, org_id, "2026-11"));
  await append();
  await commitAll(writer, [decisionRows(ids, org_id, { agent_id: 'agent "é"' })]);
  await commitAll(writer, [decisionRows(ids, org_id, { escalate: true })]);
  noted = (await append()).audit_root;
});

const verify = (query: Query, expect_root?: string) => verifyAudit(query, org_id, { expect_root });
/** Returns the finding after these statements, then undoes them. */
const found = (statements: readonly string[], expect_root?: string): Promise<AuditFinding> =>
  foundAfter(
    db,
    async (query) => {
      for (const statement of statements) await query(statement, [org_id]);
    },
    (query) => verify(query, expect_root),
  );
const entry = (seq: number, change: string) => `update ledger set ${change} where org_id = $1 and seq = ${seq}`;
const no_root = "decode(repeat('00', 32), 'hex')";

it("finds an unchanged trail sound", async () => {
  const root = noted;
  expect(await db.tenant(org_id, verify)).toEqual({ sound: true, rows: last, intents: 2, erased: 0, root });
});

describe("a changed entry is detected", () => {
  it.each<[string, seq: number, change: string]>([
    ["a change's document", 2, `data = '{"n":7}'`],
    ["a change's actor", 2, "actor = 'key_other'"],
    ["a change's time", 8, "at = at + interval '1 microsecond'"],
    ["a change's type", 8, "type = 'key_revoked'"],
    ["a change's id", 8, "audit_id = 'aud_other'"],
    ["the intent of a change", 8, "intent_id = 'int_other'"],
    ["a salt", 8, "data_salt = decode(repeat('00', 16), 'hex')"],
    ["an intent", blocked, "intent = replace(intent::text, '98.7', '9.7')::json"],
    ["facts", blocked, "facts = replace(facts::text, 'true', 'false')::json"],
    ["a decision", blocked, `data = replace(data::text, '"approve"', '"block"')::json`],
    ["white space in a text", blocked, "facts = (facts::text || ' ')::json"],
    ["the verdict in its column", blocked, "verdict = 'block'"],
    ["the agent in its column", blocked, "agent_id = 'agent-2'"],
    ["the submitter of a decision", blocked, "actor = 'key_other'"],
    ["the time of a decision", blocked, "at = at - interval '1 day'"],
    ["the keys that a decision counts for", blocked, "lineage_id = null"],
    ["the mode", blocked, "mode = 'test'"],
    ["the membrane", blocked, "membrane_id = 'mem_other'"],
    ["the intent's id", blocked, "intent_id = 'int_other'"],
    ["the decision's id", blocked, "decision_id = 'dec_other'"],
    ["the review that a decision opened", held, "escalation_id = 'esc_other'"],
    ["facts that were erased", blocked, "facts = null"],
    ["the hash itself", blocked, `hash = ${no_root}`],
  ])("%s", async (_, seq, change) => {
    expect(await found([entry(seq, change)])).toEqual({ sound: false, seq, problem: "entry_changed" });
  });

  it.each<[string, seq: number, change: string]>([
    ["a review taken away", held, "escalation_id = null"],
    ["a review that never existed", blocked, "escalation_id = 'esc_other'"],
    ["an override that it never rested on", blocked, "override_id = 'ovr_other'"],
  ])("%s: the entry has another number of records", async (_, seq, change) => {
    expect(await found([entry(seq, change)])).toMatchObject({ sound: false, problem: "gap" });
  });
});

describe("a changed chain is detected", () => {
  it.each<[string, statements: readonly string[], finding: object]>([
    ["a removed entry", ["delete from ledger where org_id = $1 and seq = 2"], { seq: 2, problem: "gap" }],
    ["a removed decision", [`delete from ledger where org_id = $1 and seq = ${blocked}`], { seq: 3, problem: "gap" }],
    ["a removed end", [`delete from ledger where org_id = $1 and seq > ${held}`], { seq: 8, problem: "rows_missing" }],
    ["another number of an entry", [entry(8, "entry = 7")], { seq: 8, problem: "gap" }],
    ["a forged root", [entry(blocked, `root = ${no_root}`)], { seq: blocked, problem: "chain_broken" }],
    ["a removed root", [entry(blocked, "root = null")], { seq: held, problem: "chain_broken" }],
    ["a removed last root", [entry(last, "root = null")], { seq: last, problem: "chain_broken" }],
    [
      "a forged head",
      [`update org_heads set audit_root = ${no_root} where org_id = $1`],
      { seq: last, problem: "chain_broken" },
    ],
    [
      "a head with another number of entries",
      ["update org_heads set entries = entries + 1 where org_id = $1"],
      { seq: last, problem: "chain_broken" },
    ],
    [
      "two swapped entries",
      [
        entry(1, "seq = 100, entry = 1, root = (select root from ledger where org_id = $1 and seq = 2)"),
        entry(2, "seq = 1, entry = 0, root = null"),
        entry(100, "seq = 2"),
      ],
      { seq: 2, problem: "chain_broken" },
    ],
    [
      "an entry with a recomputed hash",
      [entry(blocked, "verdict = 'block'"), `update ledger l set hash = ledger_hash(ledger_leaf(l)) where org_id = $1`],
      { seq: blocked, problem: "chain_broken" },
    ],
  ])("%s", async (_, statements, finding) => {
    expect(await found(statements)).toEqual({ sound: false, ...finding });
  });

  it("a trail that was cut or rewritten after a root was noted", async () => {
    expect(await db.tenant(org_id, (query) => verify(query, noted))).toMatchObject({ sound: true, rows: last });
    const cut = [
      `delete from ledger where org_id = $1 and seq > ${held}`,
      `update org_heads o set audit_seq = l.seq, audit_root = l.root, entries = l.entry + 1 from ledger l
       where o.org_id = $1 and l.org_id = $1 and l.seq = ${held}`,
    ];
    expect(await found(cut)).toMatchObject({ sound: true, rows: held });
    expect(await found(cut, noted)).toEqual({ sound: false, seq: held, problem: "root_unknown" });
  });
});
