import { type AgentDetails, foldName, type ListedAgent, limits, type RegisteredAgent } from "@countersign/contract";
import {
  allowsAgent,
  bindingsOf,
  classifyAction,
  Fault,
  formatTimestampUs,
  namingRules,
  registeredAbove,
  us_per_day,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import {
  type AgentActions,
  type AgentRow,
  type AgentWork,
  listAgents as listRows,
  readAgent,
  readAgentActions,
  readChildren,
  readNewestTools,
  readOpenReviews,
  readParents,
  readSpellings,
  readWorkOf,
  work_days,
} from "../../store/agents/agents.ts";
import { readFreezes } from "../../store/freezes/freezes.ts";
import { readKeysOfAgents } from "../../store/keys/keys.ts";
import { readAlongIndexes } from "../../store/membranes/overview.ts";
import { decodeCursor, type Page, page } from "../../store/rows/cursor.ts";
import { countNewest } from "../figures/keep-figures.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { currentState } from "../shared/current-rules.ts";
import type { OrgState } from "../shared/node-services.ts";
import { inTurns } from "../shared/turns.ts";
import { countUncoveredTools, readBudgets } from "./agent-standing.ts";

const activity_days = 31;
const tools_max = 100;
const children_max = 100;
const escalation_ids_max = 20;

/** Distinguishes this list's cursors from those of other lists. The folded agent id follows. */
const place_prefix = "agent ";

const isPlace = (place: string): boolean =>
  place.startsWith(place_prefix) && place.length <= 4 * limits.agent_id_chars_max && !place.includes("\0");

export async function listAgents(
  runtime: Pick<Runtime, "db" | "clock" | "orgStates">,
  { org_id }: Pick<Caller, "org_id">,
  { prefix = "" }: { readonly prefix?: string | undefined },
  limit: number,
  cursor: string | undefined,
): Promise<Page<ListedAgent>> {
  const after = decodeCursor(cursor, isPlace)?.slice(place_prefix.length) ?? null;
  if (after === null) await countNewest(runtime.db, org_id);
  const state = await currentState(runtime, org_id);
  const now_us = runtime.clock.now_us();
  const today_us = Math.floor(now_us / us_per_day) * us_per_day;
  const read = await runtime.db.tenant(org_id, async (query) => {
    const { rows, next_cursor } = page(
      await listRows(query, org_id, prefix, after, limit + 1),
      limit,
      ({ agent_id }) => place_prefix + foldName(agent_id),
    );
    const work = await readWorkOf(query, org_id, rows, formatTimestampUs(today_us));
    const budgets = await readBudgets(query, org_id, state, rows, now_us);
    const with_status = await withStatus(query, org_id, rows);
    await readAlongIndexes(query);
    const from = formatTimestampUs(today_us - (work_days - 1) * us_per_day);
    return { with_status, work, budgets, tools: await readNewestTools(query, org_id, rows, from), next_cursor };
  });
  const uncovered = await countUncoveredTools(state, read.tools, now_us);
  return {
    rows: read.with_status.map((row): ListedAgent => {
      const subject = foldName(row.agent_id);
      const standing = { budget: read.budgets.get(subject) ?? null, uncovered_tools: uncovered.get(subject) ?? 0 };
      return { ...row, ...workOf(read.work.get(row.agent_id)), ...standing };
    }),
    next_cursor: read.next_cursor,
  };
}

function workOf(work: AgentWork | undefined): Pick<ListedAgent, "days" | "open_reviews"> {
  const days = new Map(work?.days.map(({ day, decisions, held }) => [day, { decisions, held }]));
  return {
    days: Array.from({ length: work_days }, (_, day) => days.get(day) ?? { decisions: 0, held: 0 }),
    open_reviews: work?.open_reviews ?? 0,
  };
}

export async function withStatus(query: Query, org_id: string, rows: readonly AgentRow[]): Promise<RegisteredAgent[]> {
  const freezes = await readFreezes(query, org_id);
  return rows.map((row) => {
    const stopping = freezes.of({ agent_id: row.agent_id, lineage_id: null });
    return {
      ...row,
      status: stopping.length === 0 ? "active" : "frozen",
      freezes: stopping.map(({ kind, name, mode, reason, frozen_by, frozen_at }) => ({
        ...{ kind, name, mode, reason, frozen_by, frozen_at },
      })),
    };
  });
}

/** Reads an agent with its actions of the last 31 days. Faults: not_found. */
export async function getAgent(
  runtime: Pick<Runtime, "db" | "clock" | "orgStates">,
  { org_id }: Pick<Caller, "org_id">,
  agent_id: string,
): Promise<AgentDetails> {
  await countNewest(runtime.db, org_id);
  const now_us = runtime.clock.now_us();
  const [from, to] = [formatTimestampUs(now_us - activity_days * us_per_day), formatTimestampUs(now_us)];
  const read = await runtime.db.tenant(org_id, async (query) => {
    const row = await readAgent(query, org_id, agent_id);
    if (row === undefined) throw new Fault("not_found");
    await readAlongIndexes(query);
    const spellings = await readSpellings(query, org_id, agent_id);
    const parents = await readParents(query, org_id);
    const keys = await readKeysOfAgents(query, org_id);
    return {
      agent: (await withStatus(query, org_id, [row]))[0] as RegisteredAgent,
      ancestors: [...registeredAbove(parents, agent_id)],
      children: await readChildren(query, org_id, agent_id, children_max),
      keys: keys.flatMap(({ key_id, name, role, bindings, agent_id: own }) => {
        const bound_to = own === null ? (bindings?.agent_ids ?? null) : [own];
        if (bound_to === null) return [];
        const bound = bindingsOf({ membrane_ids: null, agent_ids: bound_to, source_cidrs: null, forbid_shadow: false });
        return allowsAgent(bound, agent_id, parents) ? [{ key_id, name, role }] : [];
      }),
      actions: await readAgentActions(query, org_id, spellings, from),
      open_reviews: await readOpenReviews(query, org_id, spellings, escalation_ids_max),
    };
  });
  const { agent, actions, open_reviews, ...others } = read;
  const limit = limits.escalations_pending_per_agent_max;
  const tools = await toolsOf(await runtime.orgStates.get(org_id), actions, now_us);
  return {
    ...agent,
    ...others,
    activity: { from, to, ...figuresOf(actions), tools },
    open_reviews: { ...open_reviews, limit },
  };
}

function figuresOf(actions: readonly AgentActions[]): Omit<AgentDetails["activity"], "from" | "to" | "tools"> {
  const verdicts = { approve: 0, approve_modified: 0, escalate: 0, block: 0 };
  let [decisions, risk_sum, highest] = [0, 0, 0];
  for (const each of actions) {
    verdicts[each.verdict] += each.count;
    decisions += each.count;
    risk_sum += each.risk_sum;
    highest = Math.max(highest, each.risk_max);
  }
  const average = decisions === 0 ? 0 : Math.round((risk_sum / decisions) * 1_000) / 1_000;
  return {
    ...{ decisions, complete: decisions <= limits.agent_decisions_read_max, verdicts },
    risk: decisions === 0 ? null : { average, highest },
  };
}

async function toolsOf(
  state: OrgState,
  actions: readonly AgentActions[],
  now_us: number,
): Promise<AgentDetails["activity"]["tools"]> {
  const tools = new Map<string, { verb: string; count: number; named: boolean }>();
  for (const membrane_id of new Set(actions.map((each) => each.membrane_id))) {
    const deciding = state.membrane(membrane_id);
    if (deciding === undefined) continue;
    const { membrane, policySet } = deciding;
    const { catalogue } = policySet.prepare(membrane);
    const here = actions.filter((each) => each.membrane_id === membrane_id);
    const kinds = here.map(({ verb, type, data_classes, count }) => {
      const action = { verb, ...(type !== null && { type }) };
      const decided = classifyAction({ action, data_classes: data_classes ?? undefined }, catalogue);
      return { verb, type: decided.type, data_classes: [...decided.data_classes], count, held: 0 };
    });
    const rules = policySet.live.placed
      .map(({ policy }) => policy)
      .filter(({ effective_from_us, effective_until_us }) => effective_from_us <= now_us && now_us < effective_until_us)
      .map(({ document }) => document);
    const { naming } = await inTurns(namingRules(rules, kinds));
    kinds.forEach(({ verb, count }, place) => {
      const before = tools.get(verb) ?? { verb, count: 0, named: false };
      const named = before.named || (naming[place]?.length ?? 0) > 0;
      tools.set(verb, { verb, count: before.count + count, named });
    });
  }
  return [...tools.values()].sort((a, b) => b.count - a.count || (a.verb < b.verb ? -1 : 1)).slice(0, tools_max);
}
