import { formatTimestampUs } from "@countersign/core";
import { createIds } from "../../packages/server/src/edge/ids.ts";
import type { OpenedDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { auditRow } from "../../packages/server/src/store/audit/audit.ts";
import { lockHead, withHead } from "../../packages/server/src/store/organizations/heads.ts";
import { vacuum } from "../vacuum.ts";

const days = 30;
const rows_at_once = 20_000;
/** Of a thousand decisions. */
const [blocked, escalated, in_shadow] = [10, 2, 1];

/** Decisions that are copied. */
export type Originals = Readonly<Record<"approve" | "block" | "escalate", string>>;

/**
 * Copies three decisions over the last 30 days. All but the newest reviews are closed. Shadow decisions and those of
 * `agent` are only at the beginning.
 */
export async function copyHistory(
  { db, connection, clock }: OpenedDatabase,
  { org_id, originals }: { readonly org_id: string; readonly originals: Originals },
  count: number,
  told: (done: number) => void,
): Promise<{ readonly agent: string }> {
  const end_us = clock.now_us();
  const step_us = Math.floor((days * 86_400_000_000) / count);
  let at_us = end_us - step_us * count;
  const ids = createIds({ now_us: () => at_us });
  const before = await db.tenant(org_id, (query) => lockHead(query, org_id));
  for (let done = 0; done < count; done += rows_at_once) {
    const rows = Array.from({ length: Math.min(rows_at_once, count - done) }, (_, n) => {
      at_us += step_us;
      return copyOf(done + n, count, ids, at_us);
    });
    await db.tenant(org_id, (query) =>
      query(copyStatement, [
        org_id,
        originals.approve,
        originals.escalate,
        originals.block,
        before.audit_seq + 3 * done,
        before.entries + done,
        JSON.stringify(rows),
      ]),
    );
    if ((done / rows_at_once) % 10 === 9) told(done + rows.length);
  }
  await db.query(
    `update org_heads set audit_seq = ${before.audit_seq + 3 * count}, entries = ${before.entries + count} where org_id = '${org_id}'`,
  );
  const at = formatTimestampUs(end_us);
  const row = auditRow(ids, { intent_id: null, type: "key_created", actor: "system", at, data: {} });
  await db.tenant(org_id, (query) => withHead(query, org_id, { audit: [row] }));
  await vacuum(connection, "ledger, escalations");
  return { agent: rare_agent };
}

const rare_agent = "rare-agent";

interface Copy {
  readonly intent_id: string;
  readonly decision_id: string;
  readonly escalation_id: string | null;
  readonly agent_id: string;
  readonly mode: "live" | "shadow";
  readonly verdict: "approve" | "block" | "escalate";
  readonly status: "pending" | "decided" | "timed_out";
  readonly at: string;
}

function copyOf(n: number, count: number, ids: OpenedDatabase["ids"], at_us: number): Copy {
  const place = n % 1_000;
  const verdict = place < blocked ? "block" : place < blocked + escalated ? "escalate" : "approve";
  const early = n < count / 100;
  return {
    intent_id: ids.next("intent"),
    decision_id: ids.next("decision"),
    escalation_id: verdict === "escalate" ? ids.next("escalation") : null,
    agent_id: early && place === 500 ? rare_agent : `agent-${n % 100}`,
    mode: early && place < 100 + in_shadow && place >= 100 ? "shadow" : "live",
    verdict,
    status: n > count - 20_000 ? "pending" : early ? "timed_out" : "decided",
    at: formatTimestampUs(at_us),
  };
}

/** Hashes, roots and the records of closed reviews are wrong. The benchmark does not read them. */
const copyStatement = `with copies as (
    select * from rows from (json_to_recordset($7::json) as (intent_id text, decision_id text, escalation_id text, agent_id text, mode text,
      verdict text, status text, at timestamptz)) with ordinality
      as r(intent_id, decision_id, escalation_id, agent_id, mode, verdict, status, at, n)),
  decided as (
    insert into ledger (org_id, seq, entry, at, type, actor, intent_id, decision_id, membrane_id, agent_id, lineage_id, mode, verdict,
      escalation_id, fingerprint, intent, facts, data, intent_salt, facts_salt, data_salt, hash)
    select $1, $5::bigint + 3 * c.n, $6::bigint + c.n - 1, c.at, 'decided', l.actor, c.intent_id, c.decision_id, l.membrane_id, c.agent_id,
      l.lineage_id, c.mode, c.verdict, c.escalation_id, case when c.verdict <> 'approve' then l.fingerprint end, l.intent, l.facts, l.data,
      l.intent_salt, l.facts_salt, l.data_salt, l.hash
    from copies c join ledger l on l.org_id = $1 and l.type = 'decided' and l.intent_id = case c.verdict when 'escalate' then $3 when 'block' then $4 else $2 end)
  insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, demands, created_at, expires_at,
    closed_at, resolution)
  select $1, c.escalation_id, c.intent_id, c.decision_id, c.agent_id, 'live', c.status,
    (e.record::jsonb || jsonb_build_object('escalation_id', c.escalation_id, 'intent_id', c.intent_id, 'status', c.status))::json,
    e.demands, c.at, c.at + interval '40 days', case when c.status <> 'pending' then c.at end,
    case when c.status <> 'pending' then '{"outcome":"block"}'::json end
  from copies c join escalations e on e.org_id = $1 and e.intent_id = $3 where c.escalation_id is not null`;
