import {
  limits,
  type MissingFacts,
  type Overview,
  type PipelineMode,
  type Verdict,
  type WarnedKey,
} from "@countersign/contract";
import {
  faultAt,
  formatTimestampUs,
  keySteps,
  missingFactSteps,
  packRuleId,
  parseTimestampUs,
  us_per_day,
  us_per_hour,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { countContradictions } from "../../store/audit/contradictions.ts";
import {
  type CountedAgent,
  type CountedVerdicts,
  countTail,
  type Figure,
  type FiguresWindow,
  readBusiestAgents,
  readSums,
  readVerdicts,
  type Tail,
} from "../../store/figures/read-figures.ts";
import { readWarnedKeys } from "../../store/keys/key-warnings.ts";
import { readAlongIndexes, readAnswerTimes, readAsked, readQueue } from "../../store/membranes/overview.ts";
import { rulesOutOfReach } from "../people/voting/reach.ts";
import type { Packs } from "../policies/read-packs.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { storableUs } from "../shared/storable-time.ts";

export interface OverviewRequest {
  readonly from?: string;
  readonly to?: string;
  readonly membrane_id?: string;
  readonly mode?: PipelineMode;
}

interface KeyUses {
  readonly callers: Pick<Runtime["callers"], "writeUses">;
}

interface OverviewWindow extends FiguresWindow {
  readonly bucket_hours: number;
}

const window_us_max = 31 * us_per_day;
/** Longest lag in seconds of a replica that may serve the overview. */
const overview_behind_s_max = 5;
const buckets_aim = 48;
const bucketSizesHours = [1, 3, 6, 12, 24] as const;
const listed_max = 10;

/**
 * Returns counts of whole hours, exact at the time of the answer unless `complete` is false. Faults: invalid_request (a
 * window that is empty, reversed, or longer than 31 days).
 */
export async function readOverview(
  runtime: Pick<Runtime, "db" | "clock" | "latencies"> & KeyUses,
  packs: Packs,
  { org_id }: Pick<Caller, "org_id">,
  request: OverviewRequest,
): Promise<Overview> {
  const window = windowOf(request, runtime.clock.now_us());
  const keys = await readWarnings(runtime, org_id);
  return runtime.db.reading(org_id, { within_s: overview_behind_s_max }, async (query) => {
    await readAlongIndexes(query);
    const tail = await countTail(query, org_id, window);
    const { verdicts, sums, agents } = tail.readable ? await readCounted(query, org_id, window, tail) : none;
    const buckets = bucketsOf(window, verdicts, tail);
    const decisions = buckets.reduce((sum, { count }) => sum + count, 0);
    const policies = policiesOf(sums).slice(0, listed_max);
    return {
      from: window.from,
      to: window.to,
      bucket_seconds: window.bucket_hours * 3_600,
      buckets,
      decisions,
      complete: tail.complete,
      as_of: { seq: tail.as_of, at: tail.as_of_at },
      risk: Array.from({ length: 10 }, (_, bin) => sums.get("risk")?.get(String(bin)) ?? 0),
      policies,
      before: await readBefore(query, org_id, window, policies),
      people: { asked: await readAsked(query, org_id), ...(await readAnswerTimes(query, org_id, window)) },
      missing_facts: missingFacts(sums, packs, decisions),
      agents: agents.slice(0, listed_max),
      contradictions: await countContradictions(query, org_id, window, limits.counted_contradictions_max),
      nobody_can_decide: (await rulesOutOfReach(query, org_id)).map(({ membrane_id: _, ...rule }) => rule),
      queue: await readQueue(query, org_id),
      keys,
      latency: runtime.latencies.of(org_id),
    };
  });
}

export async function readKeySteps(
  runtime: Pick<Runtime, "db"> & KeyUses,
  { org_id }: Pick<Caller, "org_id">,
): Promise<string[]> {
  return keySteps(await readWarnings(runtime, org_id));
}

async function readWarnings(runtime: Pick<Runtime, "db"> & KeyUses, org_id: string): Promise<WarnedKey[]> {
  await runtime.callers.writeUses(org_id);
  return runtime.db.tenant(org_id, (query) => readWarnedKeys(query, org_id, limits.key_warnings_max));
}

interface Counted {
  readonly verdicts: readonly CountedVerdicts[];
  readonly sums: Sums;
  readonly agents: readonly CountedAgent[];
}

const none: Counted = { verdicts: [], sums: new Map(), agents: [] };

async function readCounted(query: Query, org_id: string, window: OverviewWindow, { figures }: Tail): Promise<Counted> {
  const verdicts = await readVerdicts(query, org_id, window, window.bucket_hours);
  const used = { ...window, modes: [...new Set(verdicts.map(({ mode }) => mode))] };
  const newest = figures.filter(({ kind }) => kind === "agent");
  return {
    verdicts,
    sums: summed([...(await readSums(query, org_id, used)), ...figures]),
    agents: await readBusiestAgents(query, org_id, used, newest),
  };
}

/** Counts the period of the same length before the window. `policies`: the rules to count there. */
async function readBefore(
  query: Query,
  org_id: string,
  window: OverviewWindow,
  policies: Overview["policies"],
): Promise<Overview["before"]> {
  const length_us = (parseTimestampUs(window.to) as number) - (parseTimestampUs(window.from) as number);
  const [from, to] = [formatTimestampUs((parseTimestampUs(window.from) as number) - length_us), window.from];
  const earlier = { ...window, from, to, bucket_hours: length_us / us_per_hour };
  const tail = await countTail(query, org_id, earlier);
  const counted = tail.readable ? await readVerdicts(query, org_id, earlier, earlier.bucket_hours) : [];
  const buckets = bucketsOf(earlier, counted, tail);
  const verdicts = { approve: 0, approve_modified: 0, escalate: 0, block: 0 };
  for (const { verdict, count } of buckets) verdicts[verdict] += count;
  const modes = [...new Set(buckets.map(({ mode }) => mode))];
  const figures = modes.length === 0 ? [] : await readSums(query, org_id, { ...earlier, modes });
  const shown = new Set(policies.map(ruleKey));
  return {
    from,
    to,
    complete: tail.complete,
    decisions: buckets.reduce((sum, { count }) => sum + count, 0),
    verdicts,
    policies: policiesOf(summed([...figures, ...tail.figures])).filter((rule) => shown.has(ruleKey(rule))),
  };
}

const ruleKey = ({
  policy_id,
  policy,
  effect,
}: Pick<Overview["policies"][number], "policy_id" | "policy" | "effect">) =>
  JSON.stringify([policy_id, policy, effect]);

function bucketsOf(
  { from, bucket_hours }: OverviewWindow,
  counted: readonly CountedVerdicts[],
  tail: Tail,
): Overview["buckets"] {
  const newest = tail.figures.flatMap(({ kind, mode, hour, item, count }) =>
    kind === "verdict" ? [{ bucket: Math.floor(hour / bucket_hours), mode, verdict: item as Verdict, count }] : [],
  );
  const from_us = parseTimestampUs(from) as number;
  const buckets = new Map<string, Overview["buckets"][number]>();
  for (const { bucket, mode, verdict, count } of [...counted, ...newest]) {
    const at = formatTimestampUs(from_us + bucket * bucket_hours * us_per_hour);
    const key = `${at} ${mode} ${verdict}`;
    buckets.set(key, { at, mode, verdict, count: count + (buckets.get(key)?.count ?? 0) });
  }
  return [...buckets.values()].sort((a, b) => compare(a.at, b.at));
}

type Sums = ReadonlyMap<string, ReadonlyMap<string, number>>;

export function summed(figures: readonly Figure[]): Sums {
  const sums = new Map<string, Map<string, number>>();
  for (const { kind, item, count } of figures) {
    const items = sums.get(kind) ?? new Map<string, number>();
    sums.set(kind, items.set(item, (items.get(item) ?? 0) + count));
  }
  return sums;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function policiesOf(sums: Sums): Overview["policies"] {
  type Effect = Overview["policies"][number]["effect"];
  const missing = new Map<string, number>();
  for (const [item, count] of sums.get("missing_rule") ?? []) {
    const rule = JSON.stringify((JSON.parse(item) as unknown[]).slice(1));
    missing.set(rule, Math.max(count, missing.get(rule) ?? 0));
  }
  return [...(sums.get("policy") ?? [])]
    .map(([item, count]) => {
      const [policy_id, policy, effect] = JSON.parse(item) as [string | null, string, Effect];
      const missing_facts = Math.min(count, missing.get(JSON.stringify([policy_id, policy])) ?? 0);
      return { policy_id, policy, effect, count, missing_facts };
    })
    .sort((a, b) => b.count - a.count || compare(a.policy, b.policy) || compare(a.effect, b.effect));
}

function missingFacts(sums: Sums, packs: Packs, decisions: number): MissingFacts {
  const names = new Map(
    [...packs.values()].flatMap(({ name, rules }) => rules.map((rule) => [rule.metadata.name, name])),
  );
  /** Null for an own policy, even if it has the name of a pack's rule. */
  const packOf = (policy_id: string, policy: string) =>
    policy_id === packRuleId(policy) ? (names.get(policy) ?? null) : null;
  const asked = [...(sums.get("missing_rule") ?? new Map<string, number>()).keys()]
    .sort()
    .map((item) => JSON.parse(item) as [string, string, string]);
  const missing = sums.get("missing")?.get("") ?? 0;
  const found = {
    decisions: missing,
    share: decisions === 0 ? 0 : missing / decisions,
    facts: [...(sums.get("missing_fact") ?? new Map<string, number>())]
      .sort(([a, of_a], [b, of_b]) => of_b - of_a || compare(a, b))
      .slice(0, limits.missing_facts_max)
      .map(([path, count]) => ({
        path,
        decisions: count,
        rules: asked
          .filter(([asked_path]) => asked_path === path)
          .map(([, policy_id, policy]) => ({ policy_id, policy, pack: packOf(policy_id, policy) })),
      })),
  };
  return { ...found, next_steps: missingFactSteps(found) };
}

function windowOf(request: OverviewRequest, now_us: number): OverviewWindow {
  const to_us = request.to === undefined ? now_us : storableUs(request.to);
  const from_us = request.from === undefined ? to_us - us_per_day : storableUs(request.from);
  const length_us = to_us - from_us;
  if (!(length_us > 0 && length_us <= window_us_max)) {
    const message = "`from` must be before `to`, by at most 31 days.";
    throw faultAt("invalid_request", "/from", "out_of_range", message);
  }
  const [first, end] = [Math.floor(from_us / us_per_hour), Math.ceil(to_us / us_per_hour)];
  const wanted_hours = (end - first) / buckets_aim;
  return {
    from: formatTimestampUs(first * us_per_hour),
    to: formatTimestampUs(end * us_per_hour),
    bucket_hours: bucketSizesHours.find((hours) => hours >= wanted_hours) ?? 24,
    membrane_id: request.membrane_id ?? null,
    modes: request.mode === undefined ? ["live", "shadow", "test"] : [request.mode],
  };
}
