import { type Coverage, limits } from "@countersign/contract";
import { classifyAction, formatTimestampUs, namingRules, us_per_day } from "@countersign/core";
import { type DeclaredActions, readDeclaredActions } from "../../store/membranes/coverage.ts";
import { readAlongIndexes } from "../../store/membranes/overview.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { currentMembrane } from "../shared/current-rules.ts";
import { inTurns } from "../shared/turns.ts";

type Kind = Pick<Coverage["actions"][number], "verb" | "type" | "data_classes" | "count" | "held">;

const window_us = 31 * us_per_day;

/** Returns the requested actions of the last 31 days, and the current rules that name each. Faults: not_found. */
export async function readCoverage(
  runtime: Pick<Runtime, "db" | "clock" | "orgStates">,
  { org_id }: Pick<Caller, "org_id">,
  membrane_id: string,
): Promise<Coverage> {
  const { membrane, policySet } = await currentMembrane(runtime, org_id, membrane_id);
  const now_us = runtime.clock.now_us();
  const [from, to] = [formatTimestampUs(now_us - window_us), formatTimestampUs(now_us)];
  const declared = await runtime.db.tenant(org_id, async (query) => {
    await readAlongIndexes(query);
    return readDeclaredActions(query, org_id, membrane_id, from);
  });
  const kinds = kindsOf(declared, policySet.prepare(membrane).catalogue);
  const rules = policySet.live.placed
    .map(({ policy }) => policy)
    .filter(({ effective_from_us, effective_until_us }) => effective_from_us <= now_us && now_us < effective_until_us);
  const { every_action, naming } = await inTurns(
    namingRules(
      rules.map(({ document }) => document),
      kinds,
    ),
  );
  const actions = kinds.map((kind, place) => ({ ...kind, rules: [...(naming[place] ?? [])] }));
  return {
    membrane_id,
    from,
    to,
    intents: kinds.reduce((sum, { count }) => sum + count, 0),
    complete: declared.every((each) => each.declared !== null),
    every_action: [...every_action],
    actions: actions.sort(byConcern).slice(0, limits.covered_actions_max),
  };
}

function kindsOf(declared: readonly DeclaredActions[], catalogue: Parameters<typeof classifyAction>[1]): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const { declared: words, count, held } of declared) {
    if (words === null) continue;
    const { verb, type, data_classes } = words;
    const action = { verb, type: type ?? undefined };
    const decided = classifyAction({ action, data_classes: data_classes ?? undefined }, catalogue);
    const classes = [...new Set(decided.data_classes)].sort();
    const key = JSON.stringify([verb, decided.type, classes]);
    const before = kinds.get(key) ?? { verb, type: decided.type, data_classes: classes, count: 0, held: 0 };
    kinds.set(key, { ...before, count: before.count + count, held: before.held + held });
  }
  return [...kinds.values()];
}

function byConcern(a: Coverage["actions"][number], b: Coverage["actions"][number]): number {
  return Math.sign(a.rules.length) - Math.sign(b.rules.length) || b.count - a.count || (a.verb < b.verb ? -1 : 1);
}
