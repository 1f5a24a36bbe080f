/** SQL that reads figures. The cost does not grow with the history before the window. */
import type { PipelineMode, Verdict } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";
import { countedDecisions } from "./counted-decisions.ts";

/** Times are RFC 3339 on the hour; `from` is inclusive, `to` exclusive. */
export interface FiguresWindow {
  readonly from: string;
  readonly to: string;
  /** Null: all membranes. */
  readonly membrane_id: string | null;
  readonly modes: readonly PipelineMode[];
}

interface WholeDays {
  /** Equal to `ends` if there is none. */
  readonly begins: string;
  readonly ends: string;
}

type SummedKind = "risk" | "policy" | "missing" | "missing_fact" | "missing_rule";
const summedKinds: readonly SummedKind[] = ["risk", "policy", "missing", "missing_fact", "missing_rule"];

export interface Figure<Kind = string> {
  readonly kind: Kind;
  readonly item: string;
  readonly count: number;
  readonly held: number;
}

/** The newest decisions of a window, which the reconciler has not counted yet. */
export interface Tail {
  /** False: a rebuild is deleting the figures. */
  readonly readable: boolean;
  readonly figures: readonly (Figure & { readonly mode: PipelineMode; readonly hour: number })[];
  /** Figures and tail together cover decisions up to this seq. */
  readonly as_of: number;
  readonly as_of_at: string | null;
  readonly complete: boolean;
}

/** Maximum seqs after the figures that a reader counts. With more, the answer leaves them out and says so. */
const tail_seqs_max = 40_000;

/** Counts the decisions after the figures. `figures.hour`: hours since the beginning of the window. */
export async function countTail(query: Query, org_id: string, window: FiguresWindow): Promise<Tail> {
  const [progress] = await query<{ as_of: number; as_of_at: string | null; head: number }>(
    `select coalesce(s.as_of, 0) as as_of, s.as_of_at, h.audit_seq as head
     from ${newestHead("$1", "audit_seq")} h left join figures_state s on s.org_id = $1`,
    [org_id],
  );
  const { as_of, as_of_at, head } = progress as Exclude<typeof progress, undefined>;
  if (as_of < 0) return { readable: false, figures: [], as_of: 0, as_of_at: null, complete: false };
  const known = { readable: true, figures: [], as_of, as_of_at };
  if (as_of === head) return { ...known, complete: true };
  if (head - as_of > tail_seqs_max) return { ...known, complete: false };
  const { from, to, membrane_id, modes } = window;
  const [tail] = await query<Pick<Tail, "figures" | "as_of" | "as_of_at">>(
    `with ${countedDecisions({ org_id: "$1", after: "$2::bigint", up_to: "$3::bigint" })}
     select as_of, as_of_at, (
       select coalesce(json_agg(json_build_object('kind', kind, 'item', item, 'count', count, 'held', held, 'mode', mode,
         'hour', extract(epoch from begins - $4::timestamptz)::bigint / 3600)), '[]')
       from counted where span = 'hour' and begins >= $4::timestamptz and begins < $5::timestamptz
         and membrane_id = $6 and mode = any ($7::text[])) as figures
     from page`,
    [org_id, as_of, head, from, to, membrane_id ?? "", modes],
  );
  const { figures, ...counted } = tail as Exclude<typeof tail, undefined>;
  return {
    readable: true,
    figures,
    as_of: counted.as_of,
    as_of_at: counted.as_of_at ?? as_of_at,
    complete: counted.as_of === head,
  };
}

/** Decisions with one verdict in one bucket. Buckets are counted from 0. */
export interface CountedVerdicts {
  readonly bucket: number;
  readonly mode: PipelineMode;
  readonly verdict: Verdict;
  readonly count: number;
}

/** Returns the verdicts of a window in buckets, sorted by time. */
export function readVerdicts(
  query: Query,
  org_id: string,
  { from, to, membrane_id, modes }: FiguresWindow,
  bucket_hours: number,
): Promise<CountedVerdicts[]> {
  return query<CountedVerdicts>(
    `select (extract(epoch from f.begins - $4::timestamptz)::bigint / 3600 / $6::integer)::integer as bucket, f.mode, f.item as verdict,
       sum(f.count)::bigint as count
     from unnest($3::text[]) as m(mode) cross join lateral (
       select * from figures where org_id = $1 and membrane_id = $2 and kind = 'verdict' and mode = m.mode and span = 'hour'
         and begins >= $4::timestamptz and begins < $5::timestamptz offset 0) f
     group by 1, 2, 3 order by 1, 2, 3`,
    [org_id, membrane_id ?? "", modes, from, to, bucket_hours],
  );
}

/** SQL: whole days and the hours around them, for each mode. Uses `$1` to `$7`. */
const parts = `(values ('hour', $4::timestamptz, $5::timestamptz), ('day', $5, $6::timestamptz), ('hour', $6, $7::timestamptz))
    as p(span, since, until) cross join unnest($3::text[]) as m(mode)`;

const part_begins = `select generate_series(p.since, p.until - interval '1 second',
    case p.span when 'day' then interval '1 day' else interval '1 hour' end) as begins`;

const day_ms = 86_400_000;

function wholeDays({ from, to }: FiguresWindow): WholeDays {
  const begins_ms = Math.ceil(Date.parse(from) / day_ms) * day_ms;
  const ends_ms = Math.floor(Date.parse(to) / day_ms) * day_ms;
  if (begins_ms >= ends_ms) return { begins: to, ends: to };
  return { begins: new Date(begins_ms).toISOString(), ends: new Date(ends_ms).toISOString() };
}

function partValues(org_id: string, window: FiguresWindow): unknown[] {
  const { begins, ends } = wholeDays(window);
  const { from, to, membrane_id, modes } = window;
  return [org_id, membrane_id ?? "", modes, from, begins, ends, to];
}

export function readSums(query: Query, org_id: string, window: FiguresWindow): Promise<Figure<SummedKind>[]> {
  return query<Figure<SummedKind>>(
    `select f.kind, f.item, sum(f.count)::bigint as count, sum(f.held)::bigint as held
     from ${parts} cross join unnest($8::text[]) as k(kind) cross join lateral (
       select * from figures where org_id = $1 and membrane_id = $2 and kind = k.kind and mode = m.mode and span = p.span
         and begins >= p.since and begins < p.until offset 0) f
     group by 1, 2`,
    [...partValues(org_id, window), summedKinds],
  );
}

/** Agents that the query reads in each hour or day, and agents that it returns. */
const agents_of_part_max = 100;
const agents_max = 1_000;
const chosen_max = 15;

export interface CountedAgent {
  readonly agent_id: string;
  readonly count: number;
  readonly held: number;
}

/**
 * Returns the busiest agents. Callers choose agent ids, so there may be millions. Searches the 100 busiest of each day
 * and hour; returned counts are exact.
 */
export async function readBusiestAgents(
  query: Query,
  org_id: string,
  window: FiguresWindow,
  tail: readonly Figure[],
): Promise<CountedAgent[]> {
  const newest = tail.map(({ item, count, held }) => ({ agent_id: item, count, held }));
  const [looked] = await query<{ cut: boolean; agents: CountedAgent[] }>(
    `with listed as materialized (
       select m.mode, p.span, b.begins, f.* from ${parts} cross join lateral (${part_begins}) b
       cross join lateral (
         select item, count, held from figures
         where org_id = $1 and membrane_id = $2 and kind = 'agent' and mode = m.mode and span = p.span and begins = b.begins
         order by count desc limit ${agents_of_part_max}) f),
     summed as (
       select item as agent_id, sum(count)::bigint as count, sum(held)::bigint as held
       from listed group by 1 order by 2 desc, 1 limit ${agents_max})
     select (select count(*) = ${agents_max} from summed)
         or exists (select from listed group by mode, span, begins having count(*) = ${agents_of_part_max}) as cut,
       (select coalesce(json_agg(summed), '[]') from summed) as agents`,
    partValues(org_id, window),
  );
  const { cut, agents } = looked as Exclude<typeof looked, undefined>;
  const chosen = busiest([...agents, ...newest]).slice(0, chosen_max);
  if (!cut) return chosen;
  const ids = new Set(chosen.map(({ agent_id }) => agent_id));
  const exact = await readAgents(query, org_id, window, [...ids]);
  return busiest([...exact, ...newest.filter(({ agent_id }) => ids.has(agent_id))]);
}

/** Passes the kind as a list. With a single value, PostgreSQL would read all agents. */
function readAgents(query: Query, org_id: string, window: FiguresWindow, agent_ids: string[]): Promise<CountedAgent[]> {
  return query<CountedAgent>(
    `select f.item as agent_id, sum(f.count)::bigint as count, sum(f.held)::bigint as held
     from ${parts} cross join lateral (${part_begins}) b
     cross join unnest($8::text[]) as a(agent_id) cross join unnest(array['agent']) as k(kind) cross join lateral (
       select item, count, held from figures where org_id = $1 and membrane_id = $2 and kind = k.kind and mode = m.mode
         and span = p.span and begins = b.begins and item = a.agent_id offset 0) f
     group by 1`,
    [...partValues(org_id, window), agent_ids],
  );
}

function busiest(agents: readonly CountedAgent[]): CountedAgent[] {
  const sums = new Map<string, CountedAgent>();
  for (const { agent_id, count, held } of agents) {
    const before = sums.get(agent_id) ?? { count: 0, held: 0 };
    sums.set(agent_id, { agent_id, count: count + before.count, held: held + before.held });
  }
  return [...sums.values()].sort((a, b) => b.count - a.count || (a.agent_id < b.agent_id ? -1 : 1));
}
