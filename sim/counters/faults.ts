import type { NodeCounters } from "../../packages/server/src/operations/counters/node-counters.ts";
import type { Misspelling, Passage } from "./clock.ts";
import type { CountersSetting } from "./world.ts";

/** A one-line mistake. `seed` is the first world that notices it. */
export interface CountersFault {
  readonly name: string;
  readonly seed: number;
  /** Of a database function. */
  readonly function?: Misspelling;
  /** A passage of the operations' statements, replaced. */
  readonly statement?: Passage;
  readonly setting?: Setting;
}

type Setting = Pick<CountersSetting, "counters" | "trusts_agents">;

const ms = 1_000;

const changed = (change: (counters: NodeCounters) => Partial<NodeCounters>): Setting => ({
  counters: (counters) => ({
    begin: (...args) => counters.begin(...args),
    load: (...args) => counters.load(...args),
    turn: (...args) => counters.turn(...args),
    reserve: (...args) => counters.reserve(...args),
    forget: (...args) => counters.forget(...args),
    ...change(counters),
  }),
});

export const countersFaults: readonly CountersFault[] = [
  {
    name: "commits do not compare versions",
    seed: 1,
    function: {
      name: "stale_counts",
      passages: [["where each.version <> each.actual or each.last_id is distinct from each.actual_id", "where false"]],
    },
  },
  {
    name: "commits compare versions without the actions that made them",
    seed: 1,
    function: { name: "stale_counts", passages: [[" or each.last_id is distinct from each.actual_id", ""]] },
  },
  {
    name: "decisions of one call do not see each other",
    seed: 1,
    function: {
      name: "stale_counts",
      passages: [
        [" + coalesce(sum(c.counts) over earlier, 0)", ""],
        ["max(case when c.counts > 0 then", "max(case when false then"],
      ],
    },
    setting: changed((counters) => ({ reserve: (rows) => () => counters.forget(rows) })),
  },
  {
    name: "a review that times out releases nothing",
    seed: 1,
    statement: [
      "select change_counted($1, $2, $3, $4::timestamptz)",
      `select change_counted($1, $2, $3, $4::timestamptz) where $3::text is not null or not exists (
         select from escalations e where e.org_id = $1 and e.intent_id = $2 and e.status = 'timed_out')`,
    ],
  },
  {
    name: "a release also releases the other actions of its key",
    seed: 2,
    function: {
      name: "change_counted",
      passages: [
        [
          "delete from counter_entries where org_id = this_org and intent_id = this_intent",
          `delete from counter_entries c using counter_entries own where own.org_id = this_org and own.intent_id = this_intent
             and (c.org_id, c.mode, c.name, c.key_sha) = (own.org_id, own.mode, own.name, own.key_sha)`,
        ],
      ],
    },
  },
  {
    name: "a release does not raise the version",
    seed: 3,
    function: { name: "change_counted", passages: [["set version = k.version + 1", "set version = k.version"]] },
  },
  {
    name: "an approval that is handed on still counts for its first action",
    seed: 11,
    statement: ["and coalesce(e.approval_holder, e.intent_id) <> $3", "and $3 = ''"],
  },
  {
    name: "a node remembers keys that the commit refused",
    seed: 1,
    setting: changed((counters) => ({
      forget: () => undefined,
      reserve: (rows) => {
        const settle = counters.reserve(rows);
        return () => settle(true);
      },
    })),
  },
  {
    name: "windows end a millisecond late",
    seed: 6,
    setting: changed((counters) => ({
      begin: (org_id, mode, now_us) => counters.begin(org_id, mode, now_us - ms),
      load: (org_id, mode, missing, now_us) => counters.load(org_id, mode, missing, now_us - ms),
    })),
  },
  {
    name: "a deleted key begins again at its first version",
    seed: 5,
    statement: ["counter_floor = greatest(counter_floor, (select max(version) from deleted))", "counter_floor = 0"],
  },
  {
    name: "reports of an agent's own key release",
    seed: 18,
    setting: { trusts_agents: true },
  },
];
