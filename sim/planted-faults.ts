/** One-line mistakes that the simulation has to notice: if one of them goes through, it is the simulation that is broken. */
import { type CommitStatements, commitStatements } from "../packages/server/src/store/commit-statement.ts";
import { type ConnectCommit, connectCommit } from "../packages/server/src/store/commit-writer.ts";
import type { ConnectionOptions } from "../packages/server/src/store/connection.ts";

/** A mistake by name, and sessions that make it. */
export interface PlantedFault {
  readonly name: string;
  connect(connection: ConnectionOptions): ConnectCommit;
}

/** The statements with one passage replaced; throws when the passage is gone, so that no fault goes stale. */
export function misspeltStatements(right: string, wrong: string): CommitStatements {
  const { full, plain } = commitStatements;
  if (!full.text.includes(right)) throw new Error(`the commit statement no longer says: ${right}`);
  return {
    full: { name: full.name, text: full.text.replace(right, wrong) },
    plain: { name: plain.name, text: plain.text.replace(right, wrong) },
  };
}

function misspelt(name: string, right: string, wrong: string): PlantedFault {
  return { name, connect: (connection) => connectCommit(connection, misspeltStatements(right, wrong)) };
}

/**
 * Every planted fault. "The head is read without its lock" is not among them because it is none: every change of a head
 * writes an audit row, so a commit that read an old head collides at (org_id, seq), changes nothing and runs again. The lock
 * only spares it the collision.
 */
export const plantedFaults: readonly PlantedFault[] = [
  misspelt(
    "the epochs are not compared",
    "is distinct from (head.auth_epoch, head.policy_epoch, head.context_epoch) then",
    "is null then",
  ),
  misspelt("one more than the limit", "> hard_limit as over", "> hard_limit + 1 as over"),
  misspelt("shadow decisions take quota", "from accepted where mode = 'live' group by", "from accepted group by"),
  misspelt(
    "the chain is not in the order of seq",
    "string_agg(hash, ''::bytea order by seq)",
    "string_agg(hash, ''::bytea order by seq desc)",
  ),
  misspelt(
    "audit rows of refused row sets are kept",
    "as e join accepted a on a.line_number = e.n)",
    "as e join judged a on a.line_number = e.n)",
  ),
  misspelt(
    "a taken idempotency key is not noticed",
    "when first.org_id is not null then 'duplicate'",
    "when false then 'duplicate'",
  ),
  misspelt(
    "a duplicate is answered before staleness is",
    "when head.org_id is null then 'no_head'",
    "when first.org_id is not null then 'duplicate' when head.org_id is null then 'no_head'",
  ),
  misspelt("events are written without a webhook", " where a.webhooks > 0)", ")"),
  {
    name: "a lost answer counts as a commit",
    connect: (connection) => async () => {
      const session = await connectCommit(connection)();
      return { ...session, commit: (order) => session.commit(order).catch(() => []) };
    },
  },
  {
    name: "a resent batch does not look for its own intents",
    connect: (connection) => async () => {
      const session = await connectCommit(connection)();
      return { ...session, commit: (order) => session.commit({ ...order, again: false }) };
    },
  },
];
