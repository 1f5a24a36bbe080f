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
  goLiveSteps,
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
import { readAlongIndexes, readQueue } from "../../store/membranes/overview.ts";
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
    return {
      from: window.from,
      to: window.to,
      bucket_seconds: window.bucket_hours * 3_600,
      buckets,
      decisions,
      complete: tail.complete,
      as_of: { seq: tail.as_of, at: tail.as_of_at },
      risk: Array.from({ length: 10 }, (_, bin) => sums.get("risk")?.get(String(bin)) ?? 0),
      policies: policiesOf(sums.get("policy") ?? new Map()),
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

export async function readGoLiveSteps(
  runtime: Parameters<typeof readOverview>[0],
  packs: Packs,
  caller: Pick<Caller, "org_id">,
  membrane_id: string,
): Promise<string[]> {
  const now_us = runtime.clock.now_us();
  const [from, to] = [formatTimestampUs(now_us - window_us_max), formatTimestampUs(now_us)];
  return goLiveSteps(await readOverview(runtime, packs, caller, { from, to, membrane_id, mode: "shadow" }));
}

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

function summed(figures: readonly Figure[]): Sums {
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

function policiesOf(items: ReadonlyMap<string, number>): Overview["policies"] {
  type Effect = Overview["policies"][number]["effect"];
  return [...items]
    .map(([item, count]) => {
      const [policy_id, policy, effect] = JSON.parse(item) as [string | null, string, Effect];
      return { policy_id, policy, effect, count };
    })
    .sort((a, b) => b.count - a.count || compare(a.policy, b.policy) || compare(a.effect, b.effect))
    .slice(0, listed_max);
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
