/** One-line mistakes that the simulation has to notice: if one of them goes through, it is the simulation that is broken. */
import { type CommitStatements, commitStatements } from "../packages/server/src/store/commit/commit-statement.ts";
import { type ConnectCommit, connectCommit } from "../packages/server/src/store/commit/commit-writer.ts";
import type { ConnectionOptions } from "../packages/server/src/store/database/connection.ts";

/** A mistake by name, and sessions that make it. `seed` is the first world that usually notices it. */
export interface PlantedFault {
  readonly name: string;
  readonly seed: number;
  connect(connection: ConnectionOptions): ConnectCommit;
}

/** A passage of a statement, and the mistake in its place. */
type Passage = readonly [right: string, wrong: string];

/**
 * The statements with one passage replaced; throws when the passage is gone, so that no fault goes stale. `uniform`: the
 * passage that says the same in that statement, where it is another one.
 */
export function misspeltStatements(passage: Passage, uniform: Passage = passage): CommitStatements {
  const statements = commitStatements;
  const sayIt = (name: keyof CommitStatements, [right]: Passage): void => {
    if (!statements[name].text.includes(right))
      throw new Error(`the ${name} commit statement no longer says: ${right}`);
  };
  sayIt("full", passage);
  if (uniform !== passage) sayIt("uniform", uniform);
  const replaced = (name: keyof CommitStatements, [right, wrong]: Passage) => {
    const statement = statements[name];
    return { ...statement, text: statement.text.replace(right, wrong) };
  };
  return {
    full: replaced("full", passage),
    plain: replaced("plain", passage),
    uniform: replaced("uniform", uniform),
  };
}

function misspelt(name: string, seed: number, passage: Passage, uniform?: Passage): PlantedFault {
  return {
    name,
    seed,
    connect: (connection) => connectCommit(connection, { statements: misspeltStatements(passage, uniform) }),
  };
}

/**
 * Every planted fault. "The head is read without its lock" is not among them because it is none: every change of a head
 * writes an audit row, so a commit that read an old head collides at (org_id, seq), changes nothing and runs again. The lock
 * only spares it the collision.
 */
export const plantedFaults: readonly PlantedFault[] = [
  misspelt("the epochs are not compared", 1, [
    "is distinct from (head.auth_epoch, head.policy_epoch, head.context_epoch) then",
    "is null then",
  ]),
  misspelt(
    "one more than the limit",
    6,
    ["> hard_limit as over", "> hard_limit + 1 as over"],
    ["least(hard_limit - usage_used,", "least(hard_limit + 1 - usage_used,"],
  ),
  misspelt(
    "shadow decisions take quota",
    1,
    ["from accepted where mode = 'live' group by", "from accepted group by"],
    ["case when a.mode = 'live' then a.fits", "case when true then a.fits"],
  ),
  misspelt("the chain is not in the order of seq", 1, [
    "string_agg(hash, ''::bytea order by seq)",
    "string_agg(hash, ''::bytea order by seq desc)",
  ]),
  misspelt(
    "audit rows of refused row sets are kept",
    1,
    ["as e join accepted a on a.line_number = e.n)", "as e join judged a on a.line_number = e.n)"],
    ["as e where n <= (select fits from accepted)", "as e where true"],
  ),
  misspelt("a taken idempotency key is not noticed", 3, [
    "when first.org_id is not null then 'duplicate'",
    "when false then 'duplicate'",
  ]),
  misspelt("a duplicate is answered before staleness is", 3, [
    "limit 1) then 'committed'",
    "limit 1) then 'committed' when first.org_id is not null then 'duplicate'",
  ]),
  misspelt("events are written without a webhook", 1, [" where a.webhooks > 0)", ")"]),
  {
    name: "a lost answer counts as a commit",
    seed: 1,
    connect: (connection) => async () => {
      const session = await connectCommit(connection)();
      return { ...session, commit: (order) => session.commit(order).catch(() => []) };
    },
  },
  {
    name: "a resent batch does not look for its own intents",
    seed: 20,
    connect: (connection) => async () => {
      const session = await connectCommit(connection)();
      return { ...session, commit: (order) => session.commit({ ...order, again: false }) };
    },
  },
];
