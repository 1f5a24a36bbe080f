/** The one place that knows where the decisions of an organization are found by their seq. */

/** SQL for a part of an organization's history: after one seq, up to and with another. */
export interface SeqRange {
  readonly org_id: string;
  readonly after: string;
  readonly up_to: string;
}

/**
 * SQL: the decisions of this part, in the order of their seq. Rows appear in seq order under the lock of the organization's head. So
 * a statement that sees the head at a seq sees all decisions up to it.
 */
export function decisionsBetween({ org_id, after, up_to }: SeqRange): string {
  return `select a.seq, i.membrane_id, i.agent_id, i.mode, i.verdict, i.created_at as at, i.decision
    from audit a join intents i on i.org_id = a.org_id and i.intent_id = a.intent_id
    where a.org_id = ${org_id} and a.seq > ${after} and a.seq <= ${up_to} and a.type = 'decided'
    order by a.seq`;
}
