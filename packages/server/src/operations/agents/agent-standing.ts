/** Reads what is left of the budgets of listed agents, and counts their tools without a rule. */
import { type Counter, foldName, type ListedAgent } from "@countersign/contract";
import { classifyAction, namingRules } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { AgentRow, AgentTool } from "../../store/agents/agents.ts";
import { listCounterKeys } from "../../store/counters/list-counters.ts";
import { showKeys } from "../counters/list-counters.ts";
import type { DecidingMembrane, OrgState } from "../shared/node-services.ts";
import { inTurns } from "../shared/turns.ts";

type Named = Pick<AgentRow, "agent_id">;

/** More keys of the agents of one page are not read. */
const counter_keys_max = 1_000;

/** Returns the live counters of the agents in all membranes, by folded id of the agent. */
export async function readBudgets(
  query: Query,
  org_id: string,
  { membranes }: OrgState,
  agents: readonly Named[],
  now_us: number,
): Promise<ReadonlyMap<string, NonNullable<ListedAgent["budget"]>>> {
  const homes = new Map<string, DecidingMembrane>();
  for (const membrane of membranes)
    for (const [name, track] of membrane.policySet.tracks.byName)
      if (track.kind === "count" && !homes.has(name)) homes.set(name, membrane);
  const wanted = { mode: "live", names: [...homes.keys()], agents: agents.map(({ agent_id }) => foldName(agent_id)) };
  const keys =
    homes.size === 0 || agents.length === 0 ? [] : await listCounterKeys(query, org_id, wanted, null, counter_keys_max);
  const tightest = new Map<string, NonNullable<ListedAgent["budget"]>>();
  for (const membrane of new Set(homes.values())) {
    const own = keys.filter(({ name }) => homes.get(name) === membrane);
    for (const counter of await showKeys(query, org_id, membrane, "live", own, now_us))
      for (const budget of budgetsOf(counter))
        for (const part of counter.key) {
          const before = tightest.get(String(part));
          if (before === undefined || budget.left / budget.limit < before.left / before.limit)
            tightest.set(String(part), budget);
        }
  }
  return tightest;
}

function budgetsOf({ name, n, sum, limits }: Counter): NonNullable<ListedAgent["budget"]>[] {
  return limits.flatMap(({ policy_mode, field, limit }) => {
    const used = field === "n" ? n : sum;
    if (policy_mode !== "live" || used === null || limit <= 0) return [];
    return [{ counter: name, field, limit, left: Math.max(0, limit - used) }];
  });
}

/** Counts the tools that no live rule names, by the folded id of the agent. */
export async function countUncoveredTools(
  state: OrgState,
  tools: readonly AgentTool[],
  now_us: number,
): Promise<ReadonlyMap<string, number>> {
  const unnamed = new Map<string, Set<string>>();
  for (const deciding of state.membranes) {
    const here = tools.filter(({ membrane_id }) => membrane_id === deciding.membrane.membrane_id);
    const named = await namedTools(deciding, here, now_us);
    for (const [at, { subject, verb }] of here.entries())
      if (!named[at]) unnamed.set(subject, (unnamed.get(subject) ?? new Set()).add(verb));
  }
  return new Map([...unnamed].map(([subject, verbs]) => [subject, verbs.size]));
}

/** Returns for each tool whether a live rule of the membrane names it. */
async function namedTools(
  { membrane, policySet }: DecidingMembrane,
  tools: readonly AgentTool[],
  now_us: number,
): Promise<boolean[]> {
  if (tools.length === 0) return [];
  const { catalogue } = policySet.prepare(membrane);
  const places = new Map<string, number>();
  const kinds: { verb: string; type: string; data_classes: string[]; count: number; held: number }[] = [];
  const placeOf = tools.map(({ verb, type, data_classes }) => {
    const action = { verb, ...(type !== null && { type }) };
    const decided = classifyAction({ action, data_classes: data_classes ?? undefined }, catalogue);
    const kind = { verb, type: decided.type, data_classes: [...decided.data_classes], count: 0, held: 0 };
    const key = JSON.stringify(kind);
    const known = places.get(key) ?? kinds.push(kind) - 1;
    places.set(key, known);
    return known;
  });
  const rules = policySet.live.placed
    .map(({ policy }) => policy)
    .filter(({ effective_from_us, effective_until_us }) => effective_from_us <= now_us && now_us < effective_until_us)
    .map(({ document }) => document);
  const { naming } = await inTurns(namingRules(rules, kinds));
  return placeOf.map((place) => (naming[place]?.length ?? 0) > 0);
}
