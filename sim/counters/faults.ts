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
    mayAnnounce: (...args) => counters.mayAnnounce(...args),
    ...change(counters),
  }),
});

export const countersFaults: readonly CountersFault[] = [
  {
    name: "commits do not compare the newest entries",
    seed: 1,
    function: {
      name: "stale_counts",
      passages: [[" or c.follows = 0 and c.last_id is distinct from newest.name", ""]],
    },
  },
  {
    name: "a changed entry keeps its name",
    seed: 6,
    function: {
      name: "stale_counts",
      passages: [["case when e.changed then e.seq::text else e.intent_id end", "e.intent_id"]],
    },
    statement: ["case when c.changed then c.seq::text else c.intent_id end", "c.intent_id"],
  },
  {
    name: "decisions of one call do not see each other",
    seed: 1,
    function: { name: "stale_counts", passages: [["c.follows < 0 or ", ""]] },
    setting: changed((counters) => ({ reserve: (rows) => () => counters.forget(rows) })),
  },
  {
    name: "a review that times out releases nothing",
    seed: 1,
    statement: [
      "select change_counted($1, $2, $3, $4::timestamptz, $2) as changes",
      `select change_counted($1, $2, $3, $4::timestamptz, $2) as changes where $3::text is not null or not exists (
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
          "and c.intent_id = this_intent and c.state",
          `and (c.intent_id = this_intent or to_state is null and (c.mode, c.name, c.key_sha) in (
             select o.mode, o.name, o.key_sha from counter_entries o where o.org_id = this_org and o.intent_id = this_intent)) and c.state`,
        ],
      ],
    },
  },
  {
    name: "a changed entry gets no new number",
    seed: 3,
    function: { name: "change_counted", passages: [["seq = number, changed = true, ", ""]] },
  },
  {
    name: "a release leaves no entry behind",
    seed: 27,
    function: {
      name: "change_counted",
      passages: [
        [
          "update org_heads h set counter_changes = number",
          "delete from counter_entries where org_id = this_org and state = 'released'; update org_heads h set counter_changes = number",
        ],
      ],
    },
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
    name: "reports of an agent's own key release",
    seed: 18,
    setting: { trusts_agents: true },
  },
];
