import { type ConnectCommit, connectCommit } from "../packages/server/src/store/commit/commit-writer.ts";
import { type ConnectionOptions, openClient } from "../packages/server/src/store/database/connection.ts";

/** A one-line mistake. `seed` is the first world that usually notices it; if none does, the simulation is broken. */
export interface PlantedFault {
  readonly name: string;
  readonly seed: number;
  connect(connection: ConnectionOptions): ConnectCommit;
}

type Passage = readonly [right: string, wrong: string];

/**
 * Returns sessions that call a copy of `commit_decisions` with one passage replaced. Rejects if the passage no longer
 * exists.
 */
export function misspeltCommit(connection: ConnectionOptions, passage: Passage): ConnectCommit {
  const function_name = "commit_decisions_misspelt";
  const connect = connectCommit(connection, { function_name });
  let made: Promise<void> | null = null;
  return async () => {
    made ??= makeMisspelt(connection, function_name, passage);
    await made;
    return connect();
  };
}

async function makeMisspelt(connection: ConnectionOptions, name: string, [right, wrong]: Passage): Promise<void> {
  const client = await openClient(connection, "countersign simulation");
  try {
    const { rows } = await client.query(
      "select pg_get_functiondef(oid) as text from pg_proc where proname = 'commit_decisions' order by pronargs desc limit 1",
    );
    const text: string = rows[0].text;
    if (!text.includes(right)) throw new Error(`commit_decisions no longer contains: ${right}`);
    await client.query(text.replace("commit_decisions", name).replace(right, wrong));
  } finally {
    await client.end();
  }
}

function misspelt(name: string, seed: number, passage: Passage): PlantedFault {
  return { name, seed, connect: (connection) => misspeltCommit(connection, passage) };
}

const nothingRefused = { status: "fulfilled", value: [] } as const;

/**
 * Reading the head without its lock is not listed because it breaks nothing: a commit with an old head collides at
 * (org_id, seq), changes nothing and is retried.
 */
export const plantedFaults: readonly PlantedFault[] = [
  misspelt("the epochs are not compared", 1, [
    `(asked_auth, asked_policy, asked_context) is distinct from
    (head.auth_epoch, head.policy_epoch, head.context_epoch)`,
    "false",
  ]),
  misspelt("the limit allows one more decision", 6, [
    "greatest(head.hard_limit - head.usage_used, 0)",
    "greatest(head.hard_limit + 1 - head.usage_used, 0)",
  ]),
  misspelt("shadow decisions use quota", 1, ["case when this_mode = 'live' then stored else 0 end", "stored"]),
  misspelt("the chain is not in the order of seq", 1, [
    "string_agg(d.hash, ''::bytea order by d.ordinality)",
    "string_agg(d.hash, ''::bytea order by d.ordinality desc)",
  ]),
  misspelt("refused row sets are stored", 1, [
    "from unnest(decisions) with ordinality d where d.ordinality <> all (refused)\n    window",
    "from unnest(decisions) with ordinality d\n    window",
  ]),
  misspelt("a used idempotency key is not detected", 3, [
    "and k.idempotency_key = d.idempotency_key limit 1",
    "and false limit 1",
  ]),
  misspelt("a duplicate is answered before staleness is checked", 3, [
    "if head.org_id is null or (asked_auth",
    `if head.org_id is null or not exists (select from unnest(decisions) d join idempotency_keys k on k.org_id = this_org
       and k.operation = d.operation and k.idempotency_key = d.idempotency_key) and (asked_auth`,
  ]),
  misspelt("events are written without a webhook", 1, [" and head.webhooks > 0", ""]),
  {
    name: "a lost answer counts as a commit",
    seed: 1,
    connect: (connection) => async () => {
      const session = await connectCommit(connection)();
      return {
        ...session,
        async commit(calls) {
          const settled = await session.commit(calls).catch(() => calls.map(() => nothingRefused));
          return settled.map((each) => (each.status === "rejected" ? nothingRefused : each));
        },
      };
    },
  },
  {
    name: "a resent batch does not look for its own intents",
    seed: 20,
    connect: (connection) => async () => {
      const session = await connectCommit(connection)();
      return { ...session, commit: (calls) => session.commit(calls.map((call) => ({ ...call, again: false }))) };
    },
  },
];
