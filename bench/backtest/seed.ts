/** Writes a recorded past into the database, so that the figures do not depend on the code of decisions. */
import { factCategoryNames, type Membrane } from "@countersign/contract";
import {
  compilePolicySet,
  type DecideInput,
  decide,
  factsText,
  formatTimestampUs,
  mergeFacts,
  type PolicySet,
  policySha256,
} from "@countersign/core";
import type { OpenedDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { createOrganization } from "../../packages/server/src/operations/organizations/create-organization.ts";
import { auditRow } from "../../packages/server/src/store/audit/audit.ts";
import { updateMembrane } from "../../packages/server/src/store/membranes/membranes.ts";
import { withHead } from "../../packages/server/src/store/organizations/heads.ts";
import { paymentInputs } from "../decide/inputs.ts";
import { benchPolicies } from "../decide/policies.ts";
import { vacuum } from "../vacuum.ts";

const rows_at_once = 1_000;

export interface Past {
  readonly org_id: string;
  readonly from: string;
  readonly to: string;
  readonly verdicts: Readonly<Record<string, number>>;
  readonly row_bytes: number;
}

/** Payments are a millisecond apart. Ten of the 50 policies match. */
export async function recordPast({ db, clock, connection, ids }: OpenedDatabase, count: number): Promise<Past> {
  const org_id = ids.next("organization");
  const about = { org_id, name: "Bench", email: null, description: "A recorded past.", actor: "bench" };
  const created = await db.system((query) => createOrganization({ clock, ids }, query, about));
  // All recorded facts are the agents' own reports.
  const membrane: Membrane = { ...(created as Membrane), packs: [], facts_from: {}, status: "live" };
  const { membrane_id } = membrane;
  const begin_us = clock.now_us() - count * 1_000;
  const sources = benchPolicies(50).map((document) => ({
    policy_id: ids.next("policy"),
    version: 1,
    document,
    mode: "live" as const,
  }));
  await db.tenant(org_id, async (query) => {
    const at = formatTimestampUs(begin_us);
    const row = (type: "membrane_changed" | "policy_activated", data: object) =>
      auditRow(ids, { intent_id: null, at, actor: "bench", type, data: { ...data } });
    const audit = [row("membrane_changed", { membrane_id, packs: [], facts_from: {} })];
    await updateMembrane(query, org_id, membrane, at);
    for (const { policy_id, version, document } of sources) {
      const { name } = document.metadata;
      const sha256 = policySha256(document);
      audit.push(row("policy_activated", { policy_id, version, name, sha256, mode: "live" }));
      await query(
        `insert into policies (org_id, policy_id, name, status, version, active_version, created_at, updated_at)
         values ($1, $2, $3, 'live', 1, 1, $4, $4)`,
        [org_id, policy_id, name, at],
      );
      await query(
        `insert into policy_versions (org_id, policy_id, version, sha256, document, created_at, created_by)
         values ($1, $2, 1, $3, $4, $5, 'bench')`,
        [org_id, policy_id, sha256, JSON.stringify(document), at],
      );
    }
    await withHead(query, org_id, { raise: ["policy"], audit });
  });

  const policySet = compilePolicySet({ policies: sources, version: 1 });
  const inputs = paymentInputs(policySet);
  const verdicts: Record<string, number> = {};
  for (let done = 0; done < count; done += rows_at_once) {
    const rows = Array.from({ length: Math.min(rows_at_once, count - done) }, (_, index) => {
      const at_us = begin_us + (done + index) * 1_000;
      const row = rowOf(inputs[(done + index) % inputs.length] as DecideInput, membrane, policySet, at_us, ids);
      verdicts[row.verdict] = (verdicts[row.verdict] ?? 0) + 1;
      return row;
    });
    await db.tenant(org_id, (query) =>
      query(
        // After the entries of the settings. Backtests do not check hashes.
        `insert into ledger (org_id, seq, entry, at, type, actor, intent_id, decision_id, membrane_id, agent_id, mode, verdict, intent,
           facts, data, hash)
         select $1, $4::bigint + 2 * n, $4::bigint + n, at, 'decided', 'bench', intent_id, decision_id, $2, agent_id, 'live', verdict,
           intent, facts, decision, ''
         from rows from (json_to_recordset($3::json) as (intent_id text, decision_id text, agent_id text, verdict text, intent json,
           facts json, decision json, at timestamptz)) with ordinality
           as r(intent_id, decision_id, agent_id, verdict, intent, facts, decision, at, n)`,
        [org_id, membrane_id, `[${rows.map((row) => row.text).join(",")}]`, 1_000 + 2 * done],
      ),
    );
  }
  await vacuum(connection, "ledger");
  const [size] = await db.query<{ bytes: number }>(
    "select (pg_table_size('ledger') / greatest(count(*), 1))::int as bytes from ledger",
  );
  const to = formatTimestampUs(begin_us + count * 1_000 + 1);
  return { org_id, from: formatTimestampUs(begin_us), to, verdicts, row_bytes: size?.bytes ?? 0 };
}

function rowOf(
  input: DecideInput,
  membrane: Membrane,
  policySet: PolicySet,
  at_us: number,
  ids: OpenedDatabase["ids"],
): { readonly verdict: string; readonly text: string } {
  const received_us = at_us - 1_000_000;
  const document = { facts: valuesOf(input) };
  const facts = mergeFacts([{ source: "inline", received_us, document }]);
  const { content, decided_as } = decide({ ...input, policySet, membrane, facts, now_us: at_us });
  const intent_id = ids.next("intent");
  const decision_id = ids.next("decision");
  const created_at = formatTimestampUs(at_us);
  const { agent } = input.intent;
  const { risk_score, risk_contributions, reasons, modifications, modified_content, valid_until } = content;
  const decision = {
    decision_id,
    intent_id,
    membrane_id: membrane.membrane_id,
    agent_id: agent.id,
    verdict: content.verdict,
    risk_score,
    risk_contributions,
    pipeline_mode: "live",
    enforced: true,
    outcome: null,
    status: "final",
    reasons,
    modifications,
    modified_content,
    would_approve_if: null,
    human_override_id: null,
    escalation_id: null,
    escalation_status: null,
    valid_until,
    policy_set: { version: 1, sha256: content.policy_set.sha256 },
    timestamp: created_at,
  };
  // Written by hand, because the documents must have the same bytes as a submission's.
  const plain = { intent_id, decision_id, agent_id: agent.id, verdict: content.verdict, at: created_at };
  const documents = [
    `"intent":${JSON.stringify({ submitted: input.intent, decided_as, attested: false })}`,
    `"facts":${factsText(facts)}`,
    `"decision":${JSON.stringify(decision)}`,
  ];
  return { verdict: content.verdict, text: `${JSON.stringify(plain).slice(0, -1)},${documents.join(",")}}` };
}

function valuesOf({ facts }: DecideInput): Record<string, Record<string, unknown>> {
  const values: Record<string, Record<string, unknown>> = {};
  for (const category of factCategoryNames) values[category] = { ...facts[category]?.values };
  return values;
}
