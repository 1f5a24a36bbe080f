/** SQL for rollouts. People change them under the lock of the organization's head. */
import type { Rollout } from "@countersign/contract";
import type { StageCounts } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { earliestId } from "../intents/intents.ts";
import { clock_slack_ms, firstIdAt } from "../rows/first-id-at.ts";

export interface RolloutRow
  extends Pick<
    Rollout,
    | "membrane_id"
    | "stages"
    | "stage"
    | "guard"
    | "advances_itself"
    | "returns_holds_itself"
    | "breaches"
    | "requested_return"
    | "created_by"
    | "created_at"
  > {
  readonly salt: string;
  readonly status: "running" | "stopped" | "arrived";
  readonly counted_from: string | null;
  readonly counted_before: FiguresThen | null;
  readonly counts: StageCounts | null;
  /** Like the three before, since the run began (`GuardCounts`). */
  readonly run_from: string | null;
  readonly run_before: FiguresThen | null;
  readonly run_counts: StageCounts | null;
  /** Holds are enforced for the share of this stage only; 0: for no share. Null: for that of `stage`. */
  readonly holds_stage: number | null;
}

export type FiguresThen = Pick<StageCounts, "decisions" | "holds" | "blocks">;

const columns = `membrane_id, salt, stages, stage, status, guard, advances_itself, returns_holds_itself, breaches, requested_return,
  counted_from, counted_before, counts, run_from, run_before, run_counts, holds_stage, created_by, created_at`;

export async function readRollout(query: Query, org_id: string, membrane_id: string): Promise<RolloutRow | undefined> {
  const [row] = await query<RolloutRow>(`select ${columns} from rollouts where org_id = $1 and membrane_id = $2`, [
    org_id,
    membrane_id,
  ]);
  return row;
}

/** Rollouts that do not enforce decisions for all agents. */
export function readPartialRollouts(query: Query, org_id: string): Promise<RolloutRow[]> {
  return query<RolloutRow>(`select ${columns} from rollouts where org_id = $1 and status <> 'arrived'`, [org_id]);
}

export async function hasRollouts(query: Query, org_id: string): Promise<boolean> {
  return (await query("select from rollouts where org_id = $1 limit 1", [org_id])).length > 0;
}

/** Folded ids. */
export async function readRegistered(query: Query, org_id: string): Promise<string[]> {
  const rows = await query<{ subject: string }>(
    "select subject from agents where org_id = $1 and registered_at is not null",
    [org_id],
  );
  return rows.map(({ subject }) => subject);
}

export async function writeRollout(query: Query, org_id: string, row: RolloutRow): Promise<void> {
  await query(
    `insert into rollouts (org_id, membrane_id, salt, stages, stage, status, guard, advances_itself, returns_holds_itself, breaches,
       requested_return, counted_from, counted_before, counts, run_from, run_before, run_counts, holds_stage, created_by, created_at)
     values ($1, $2, $3, $4::json, $5::integer, $6, $7::json, $8::boolean, $9::boolean, $10::json, $11::json, $12::timestamptz,
       $13::json, $14::json, $15::timestamptz, $16::json, $17::json, $18::integer, $19, $20::timestamptz)
     on conflict (org_id, membrane_id) do update set salt = excluded.salt, stages = excluded.stages, stage = excluded.stage,
       status = excluded.status, guard = excluded.guard, advances_itself = excluded.advances_itself,
       returns_holds_itself = excluded.returns_holds_itself, breaches = excluded.breaches, requested_return = excluded.requested_return,
       counted_from = excluded.counted_from, counted_before = excluded.counted_before, counts = excluded.counts,
       run_from = excluded.run_from, run_before = excluded.run_before, run_counts = excluded.run_counts,
       holds_stage = excluded.holds_stage, created_by = excluded.created_by, created_at = excluded.created_at`,
    [
      ...[org_id, row.membrane_id, row.salt, JSON.stringify(row.stages), row.stage, row.status],
      ...[JSON.stringify(row.guard), row.advances_itself, row.returns_holds_itself, JSON.stringify(row.breaches)],
      ...[asJson(row.requested_return), row.counted_from, asJson(row.counted_before), asJson(row.counts)],
      ...[row.run_from, asJson(row.run_before), asJson(row.run_counts), row.holds_stage],
      ...[row.created_by, row.created_at],
    ],
  );
}

const asJson = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

export async function deleteRollout(query: Query, org_id: string, membrane_id: string): Promise<void> {
  await query("delete from rollouts where org_id = $1 and membrane_id = $2", [org_id, membrane_id]);
}

export interface RunningRollout {
  readonly org_id: string;
  readonly membrane_id: string;
}

/** System scope: running rollouts after this one, by organization and membrane. */
export function listRunning(query: Query, after: RunningRollout, limit: number): Promise<RunningRollout[]> {
  return query<RunningRollout>(
    `select org_id, membrane_id from rollouts where status = 'running' and (org_id, membrane_id) > ($1, $2)
     order by org_id, membrane_id limit $3::integer`,
    [after.org_id, after.membrane_id, limit],
  );
}

/** Reads the live figures since the hour of `from` (RFC 3339). */
export async function readLiveFigures(
  query: Query,
  org_id: string,
  membrane_id: string,
  from: string,
): Promise<FiguresThen> {
  const [row] = await query<FiguresThen>(
    `select coalesce(sum(count), 0)::integer as decisions, coalesce(sum(count) filter (where item = 'escalate'), 0)::integer as holds,
       coalesce(sum(count) filter (where item = 'block'), 0)::integer as blocks
     from figures where org_id = $1 and membrane_id = $2 and kind = 'verdict' and mode = 'live' and span = 'hour'
       and begins >= date_bin('1 hour', $3::timestamptz, '2000-01-01Z')`,
    [org_id, membrane_id, from],
  );
  return row ?? { decisions: 0, holds: 0, blocks: 0 };
}

/** Reviews of one stage that are read at most. */
const reviews_max = 20_000;

/** Reads what people did about the actions since `from` (RFC 3339). */
export async function readPeopleSince(
  query: Query,
  org_id: string,
  membrane_id: string,
  from: string,
): Promise<Pick<StageCounts, "overridden" | "reviews" | "timed_out">> {
  const [row] = await query<Pick<StageCounts, "overridden" | "reviews" | "timed_out">>(
    `select (select count(distinct o.intent_id)::integer from overrides o join intents i on i.org_id = $1 and i.intent_id = o.intent_id
         where o.org_id = $1 and o.intent_id >= $4 and o.status <> 'pending_second' and i.membrane_id = $2 and i.mode = 'live'
           and i.created_at >= $3::timestamptz) as overridden,
       count(*)::integer as reviews, count(*) filter (where status = 'timed_out')::integer as timed_out
     from (select e.status from escalations e join intents i on i.org_id = $1 and i.intent_id = e.intent_id
       where e.org_id = $1 and e.mode = 'live' and e.status in ('decided', 'timed_out') and e.escalation_id >= $5
         and e.created_at >= $3::timestamptz and i.membrane_id = $2 limit $6::integer) closed`,
    [
      ...[org_id, membrane_id, from, earliestId({ from, membrane_id })],
      ...[firstIdAt("escalation", Date.parse(from) - clock_slack_ms), reviews_max],
    ],
  );
  return row ?? { overridden: 0, reviews: 0, timed_out: 0 };
}
