/** Whether the decisions that are stored are those that the audit trail tells of. */
import type { Query } from "../../ports.ts";

/** What a check of the records found. `unhashed`: decided before audit rows held a hash of the record. */
export type RecordsFinding =
  | { readonly sound: true; readonly intents: number; readonly unhashed: number }
  | {
      readonly sound: false;
      readonly intent_id: string;
      /** The audit row that the intent contradicts; null: no row tells of it. */
      readonly seq: number | null;
      readonly problem: "intent_changed" | "intent_unaudited";
    };

const page_rows = 200;

/** A stored text, or several, hashed as `recordHash` does it; here, so that no document leaves the database. */
const hashed = (...columns: string[]) =>
  `encode(sha256(convert_to(${columns.map((column) => `${column}::text`).join(" || U&'\\001e' || ")}, 'UTF8')), 'hex')`;

/** The first audit row of these types about intent `i`: later ones could only be additions. */
const firstRow = (types: string) => `lateral (select a.seq, a.data ->> 'record_sha256' as hash from audit a
  where a.org_id = i.org_id and a.intent_id = i.intent_id and a.type in (${types}) order by a.seq limit 1)`;

/** Later branches rest on earlier ones: the decision is read only after its hash was right. */
const statement = `select i.intent_id, decided.hash is null as unhashed, coalesce(closed.seq, decided.seq) as seq,
    case
      when decided.seq is null then 'intent_unaudited'
      when decided.hash <> ${hashed("i.intent", "i.facts", "i.decision")} then 'intent_changed'
      when (i.resolution is null) <> (closed.seq is null) then 'intent_changed'
      when coalesce(closed.hash <> ${hashed("i.resolution", "e.record")}, closed.hash is not null and e.record is null)
        then 'intent_changed'
      when decided.hash is not null and
        (i.decision_id, i.membrane_id, i.agent_id, i.mode, i.verdict, i.escalation_id, i.created_at, i.status)
        is distinct from
        (i.decision ->> 'decision_id', i.decision ->> 'membrane_id', i.decision ->> 'agent_id', i.decision ->> 'pipeline_mode',
         i.decision ->> 'verdict', i.decision ->> 'escalation_id', (i.decision ->> 'timestamp')::timestamptz,
         case when i.resolution is null then i.decision ->> 'status' else 'final' end) then 'intent_changed'
    end as problem
  from intents i
  left join ${firstRow("'decided'")} decided on true
  left join ${firstRow("'reviewed', 'timed_out', 'cancelled'")} closed on true
  left join escalations e on e.org_id = i.org_id and e.escalation_id = i.escalation_id
  where i.org_id = $1 and i.intent_id > $2 and i.intent_id <= $3 order by i.intent_id limit ${page_rows}`;

/**
 * Compares every intent of one organization with what the audit trail says of it: the texts, what a review made of them
 * and its record, and the columns that repeat them. Only as good as the trail: run `verifyAudit` first. Locks nothing.
 */
export async function verifyRecords(
  query: Query,
  org_id: string,
  told?: (intents: number) => void,
): Promise<RecordsFinding> {
  const [newest] = await query<{ intent_id: string }>(
    "select intent_id from intents where org_id = $1 order by intent_id desc limit 1",
    [org_id],
  );
  let intents = 0;
  let unhashed = 0;
  for (let after = ""; newest !== undefined && after < newest.intent_id; ) {
    const rows = await query<{
      intent_id: string;
      unhashed: boolean;
      seq: number | null;
      problem: "intent_changed" | "intent_unaudited" | null;
    }>(statement, [org_id, after, newest.intent_id]);
    for (const { intent_id, seq, problem, unhashed: old } of rows) {
      if (problem !== null) return { sound: false, intent_id, seq, problem };
      if (old) unhashed += 1;
      after = intent_id;
    }
    if (rows.length === 0) break; // deleted meanwhile
    intents += rows.length;
    told?.(intents);
  }
  return { sound: true, intents, unhashed };
}
