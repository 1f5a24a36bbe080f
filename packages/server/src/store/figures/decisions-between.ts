/** Finds the decisions of an organization by their seq. No other file knows where they are stored. */

/** SQL for a part of an organization's history: after one seq, up to and with another. */
export interface SeqRange {
  readonly org_id: string;
  readonly after: string;
  readonly up_to: string;
}

/**
 * SQL: the decisions of this part, in the order of their seq. Rows appear in seq order under the lock of the
 * organization's head. So a statement that sees the head at a seq sees all decisions up to that seq.
 */
export function decisionsBetween({ org_id, after, up_to }: SeqRange): string {
  return `select l.seq, l.membrane_id, l.agent_id, l.mode, l.verdict, l.at, l.data as decision from ledger l
    where l.org_id = ${org_id} and l.seq > ${after} and l.seq <= ${up_to} and l.type = 'decided' order by l.seq`;
}
