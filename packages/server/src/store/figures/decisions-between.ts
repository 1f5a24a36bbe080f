export interface SeqRange {
  readonly org_id: string;
  readonly after: string;
  readonly up_to: string;
}

/**
 * SQL: the decisions after one seq, up to and including another. Rows appear in seq order under the head's lock, so a
 * statement that sees the head at a seq sees all decisions up to it.
 */
export function decisionsBetween({ org_id, after, up_to }: SeqRange): string {
  return `select l.seq, l.membrane_id, l.agent_id, l.mode, l.verdict, l.at, coalesce(l.data, l.kept -> 'data') as decision from ledger l
    where l.org_id = ${org_id} and l.seq > ${after} and l.seq <= ${up_to} and l.type = 'decided' order by l.seq`;
}
