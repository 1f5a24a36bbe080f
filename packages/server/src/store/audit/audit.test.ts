import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { type LedgerDecision, ledgerRows } from "../../testing/database/ledger-rows.ts";
import { readAuditPage } from "./audit.ts";

const { db } = await testDatabase();
const org_id = "org_00000000000000000000000001";
const id = (kind: string, n: number) => `${kind}_${String(n).padStart(26, "0")}`;
let decisions = 0;

async function recordsOf(wanted: LedgerDecision) {
  decisions += 1;
  const intent_id = id("int", decisions);
  await ledgerRows(db, org_id, [{ intent_id, ...wanted }]);
  const { rows } = await db.tenant(org_id, (query) => readAuditPage(query, org_id, intent_id, 0, 10));
  return rows.map(({ type, actor, data }) => [type, actor, data]);
}

const decided = { reasons: [], policy_set: { version: 1, sha256: "a".repeat(64) }, risk_score: 0.1 };
const about = { decision_id: "dec", policy_set_sha256: "a".repeat(64), risk_score: 0.1 };

test("records have the submitter, the action and the deciding policies, even if there are none", async () => {
  const wanted = { actor: "usr_1", agent_id: "agent-1", membrane_id: "mem_1", mode: "test", data: decided } as const;
  expect(await recordsOf(wanted)).toEqual([
    ["submitted", "usr_1", { agent_id: "agent-1", membrane_id: "mem_1", pipeline_mode: "test" }],
    ["decided", "system", { ...about, policies: [], verdict: "approve" }],
  ]);
});

test("records have the policies in the order of the reasons, shadow policies, and why the source gave no facts", async () => {
  const shadow = [{ policy: "c", policy_id: "pol_c", effect: "block" }];
  const records = await recordsOf({
    verdict: "block",
    intent: { shadow },
    facts: { origins: [], not_pulled: "source_timeout" },
    data: { ...decided, reasons: [{ policy: "b" }, { policy: "a" }] },
  });
  const told = { ...about, policies: ["b", "a"], verdict: "block", shadow, context_source: "source_timeout" };
  expect(records[1]).toEqual(["decided", "system", told]);
});

test("records have the opened review and the spent override", async () => {
  const [escalation_id, override_id] = [id("esc", 1), id("ovr", 1)];
  const opened = await recordsOf({ escalation_id, verdict: "escalate", data: decided });
  expect(opened.slice(2)).toEqual([["escalated", "system", { decision_id: "dec", escalation_id }]]);
  const spent = await recordsOf({ override_id, data: decided });
  expect(spent.slice(2)).toEqual([["override_spent", "system", { decision_id: "dec", override_id }]]);
});
