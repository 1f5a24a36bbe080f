/**
 * Where the order of times is broken because a clock was set back. Lists find a moment by its place among ids and in the audit
 * trail; what happened while a clock was ahead, and what happened after it was set right, stand there in the wrong order, so a
 * search for a moment between the two ended anywhere: of a trail's span it gave nothing, and a key made while the clock was
 * ahead saw none of its intents. Such a search begins before the step, or ends after it.
 */
import type { Query } from "../../ports.ts";
import { clock_slack_ms } from "./first-id-at.ts";

/** What was noted as of a later moment than this from now is of a clock that was ahead: it would hold until that has come. */
export const clock_ahead_seconds_max = 86_400;

/** Clocks may be so far apart without a note: less than the slack with which places are searched. */
const apart = `interval '${clock_slack_ms / 2} milliseconds'`;
/** Steps that are not further apart are searched as one. */
const near = `interval '${2 * clock_slack_ms} milliseconds'`;

/**
 * Notes how far a node's clock has come, and the step where it is behind what was noted before; steps that touch become one.
 * RFC 3339. Locks the note until the transaction ends. System scope.
 */
export async function recordClock(query: Query, now: string, reached: string): Promise<void> {
  const [step] = await query<{ reached: string; unknown: boolean }>(
    `insert into clock_reached as r (one_row, reached) values (true, $2::timestamptz)
     on conflict (one_row) do update set reached = greatest(r.reached, excluded.reached)
     returning reached, reached > $1::timestamptz + ${apart} and not exists (
       select from clock_steps where back_to <= $1::timestamptz and ahead_to >= reached) as unknown`,
    [now, reached],
  );
  if (step?.unknown !== true) return;
  const touching = await query<{ back_to: string; ahead_to: string }>(
    `delete from clock_steps where back_to <= $2::timestamptz + ${near} and ahead_to >= $1::timestamptz - ${near}
     returning back_to, ahead_to`,
    [now, step.reached],
  );
  await query(
    `insert into clock_steps (back_to, ahead_to)
     select min(t), max(t) from unnest($1::timestamptz[]) t`,
    [[now, step.reached, ...touching.flatMap(({ back_to, ahead_to }) => [back_to, ahead_to])]],
  );
}

/** SQL for a moment before which a search for `time` has to begin (-1), or after which it has to end (1); null stays null. */
export function besideSteps(time: string, side: -1 | 1): string {
  const edge = side === -1 ? "min(back_to)" : "max(ahead_to)";
  const slack = `interval '${clock_slack_ms} milliseconds'`;
  return `coalesce((select ${edge} from clock_steps where back_to <= ${time} + ${slack} and ahead_to >= ${time} - ${slack}), ${time})`;
}

/** The moment before which a search for what is later than all of these has to begin; in milliseconds since 1970. */
export async function beginAfterAll(query: Query, times_ms: readonly number[]): Promise<number> {
  const [row] = await query<{ at_ms: number }>(
    `select max(floor(extract(epoch from ${besideSteps("t.at", -1)}) * 1000))::float8 as at_ms
     from (select to_timestamp(ms / 1000) as at from unnest($1::float8[]) ms) t`,
    [times_ms],
  );
  return row?.at_ms ?? 0;
}
