/**
 * SQL that keeps the figures. Each step is one statement that locks the state, so figures and `as_of` change together.
 */
import type { Db, Query, QueueStatement } from "../../ports.ts";
import { noteAgentsSeen, noteSeen, type SeenAgent } from "../agents/agents.ts";
import { newestHead } from "../rows/newest-head.ts";
import { countedDecisions } from "./counted-decisions.ts";

export interface FiguresProgress {
  /** Decisions up to this seq are counted. -1: a rebuild still deletes figures. */
  readonly as_of: number;
  readonly head: number;
  /** The rebuild ends at this seq. Null: no rebuild. */
  readonly rebuild_to: number | null;
}

export function isBehind({ as_of, head, rebuild_to }: FiguresProgress): boolean {
  return as_of < head || rebuild_to !== null;
}

export function entriesBehind({ as_of, head }: Pick<FiguresProgress, "as_of" | "head">): number {
  return head - Math.max(0, as_of);
}

/** Size of a step: seqs to count, or figures to delete. */
export interface PageSize {
  readonly seqs: number;
  readonly rows: number;
}

/** SQL: the locked state. No row: another node holds the lock, or there is no state. */
const locked_state = "select as_of, rebuild_to from figures_state where org_id = $1 for update skip locked";

const countStatement: QueueStatement = {
  name: "count-figures",
  text: `with state as materialized (${locked_state}),
  asked as materialized (
    select s.as_of, h.audit_seq as head, least(s.as_of + $2::bigint, h.audit_seq) as up_to
    from state s, ${newestHead("$1", "audit_seq")} h where s.as_of >= 0),
  ${countedDecisions({ org_id: "$1", after: "(select as_of from asked)", up_to: "(select up_to from asked)" })},
  put as (
    insert into figures as f (org_id, membrane_id, kind, mode, span, begins, item, count, held)
    select $1, membrane_id, kind, mode, span, begins, item, count, held from counted
    on conflict (org_id, membrane_id, kind, mode, span, begins, item)
    do update set count = f.count + excluded.count, held = f.held + excluded.held),
  after as materialized (
    select a.head, a.as_of as as_of_before, greatest(p.as_of, a.as_of) as as_of, p.as_of_at, s.rebuild_to as rebuild_before,
      case when s.rebuild_to > p.as_of then s.rebuild_to end as rebuild_to
    from asked a, page p, state s),
  done as (
    update figures_state f set as_of = n.as_of, as_of_at = greatest(f.as_of_at, n.as_of_at), rebuild_to = n.rebuild_to
    from after n where f.org_id = $1 and (n.as_of > n.as_of_before or n.rebuild_to is distinct from n.rebuild_before)),
  seen as materialized (
    select agent_id, min(at) as first_at, max(at) as last_at, agent_id ~ '^[ -~]*$' as is_ascii
    from rated where kept group by agent_id),
  noted as (
    ${noteSeen(`(select lower(agent_id collate "C"), agent_id, first_at, last_at from seen where is_ascii)`)})
  select as_of, head, rebuild_to, (
    select json_agg(json_build_object('agent_id', agent_id, 'first_at', first_at, 'last_at', last_at)) from seen where not is_ascii) as unnoted
  from after`,
};

const clearStatement: QueueStatement = {
  name: "clear-figures",
  text: `with state as materialized (${locked_state}),
  gone as (
    delete from figures where org_id = $1 and ctid = any (array(select ctid from figures where org_id = $1 limit $2::integer))
      and (select as_of from state) = -1
    returning true)
  update figures_state f set as_of = case when (select count(*) from gone) < $2::integer then 0 else -1 end
  from state s, ${newestHead("$1", "audit_seq")} h where f.org_id = $1 and s.as_of = -1
  returning f.as_of, h.audit_seq as head, f.rebuild_to`,
};

/** Counts decisions, or deletes figures for a rebuild. Null: another node works on it, or there is no state. */
export async function takeStep(
  db: Pick<Db, "queued" | "tenant">,
  org_id: string,
  { seqs, rows }: PageSize,
): Promise<FiguresProgress | null> {
  const [counted] = await db.queued<FiguresProgress & { unnoted: SeenAgent[] | null }>(countStatement, [org_id, seqs]);
  if (counted !== undefined) {
    const { unnoted, ...progress } = counted;
    // Their ids are folded here. After a crash, their next decision notes them.
    if (unnoted !== null) await db.tenant(org_id, (query) => noteAgentsSeen(query, org_id, unnoted));
    return progress;
  }
  const [cleared] = await db.queued<FiguresProgress>(clearStatement, [org_id, rows]);
  return cleared ?? null;
}

export async function createState(query: Query, org_id: string): Promise<boolean> {
  const created = await query(
    `insert into figures_state (org_id, as_of, as_of_at, rebuild_to) values ($1, 0, null, null)
     on conflict do nothing returning true as created`,
    [org_id],
  );
  return created.length > 0;
}

/** As `takeStep`, but waits while another one counts, and creates a missing state. */
export function takeStepInTurn(
  db: Pick<Db, "tenant">,
  org_id: string,
  page: PageSize,
): Promise<FiguresProgress | null> {
  return db.tenant(org_id, async (query) => {
    if (!(await createState(query, org_id)))
      await query("select from figures_state where org_id = $1 for update", [org_id]);
    const here = {
      queued: <Row extends object>({ text }: QueueStatement, params: readonly unknown[]) => query<Row>(text, params),
      tenant: <T>(_: string, work: (query: Query) => Promise<T>) => work(query),
    };
    return takeStep(here, org_id, page);
  });
}

export interface ListedProgress extends FiguresProgress {
  readonly org_id: string;
}

/**
 * Returns the progress of organizations, by id. Uses two statements along primary keys, which a distributed database
 * can send to each shard. System scope.
 */
export async function readProgressPage(query: Query, after: string, limit: number): Promise<ListedProgress[]> {
  const heads = await query<{ org_id: string; head: number }>(
    `select org_id, max(audit_seq) as head from org_heads where org_id > $1 group by org_id order by org_id limit $2::integer`,
    [after, limit],
  );
  const states = await query<ListedProgress>(
    "select org_id, as_of, rebuild_to from figures_state where org_id = any ($1::text[])",
    [heads.map(({ org_id }) => org_id)],
  );
  const known = new Map(states.map((state) => [state.org_id, state]));
  return heads.map(({ org_id, head }) => {
    const { as_of = 0, rebuild_to = null } = known.get(org_id) ?? {};
    return { org_id, head, as_of, rebuild_to };
  });
}

/** Starts to count again from the first decision. Returns false if a rebuild already runs. */
export async function beginRebuild(query: Query, org_id: string): Promise<boolean> {
  await createState(query, org_id);
  const begun = await query(
    `update figures_state set as_of = -1, as_of_at = null,
       rebuild_to = (select audit_seq from ${newestHead("$1", "audit_seq")} h)
     where org_id = $1 and rebuild_to is null returning true as begun`,
    [org_id],
  );
  return begun.length > 0;
}
