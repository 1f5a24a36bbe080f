/** What was decided in a window of time, counted. */
import type { MissingFacts, Overview, PipelineMode } from "@countersign/contract";
import {
  faultAt,
  formatTimestampUs,
  goLiveSteps,
  missingFactSteps,
  packRuleId,
  parseTimestampUs,
  us_per_day,
  us_per_second,
} from "@countersign/core";
import {
  countDecisions,
  maybeCut,
  type OverviewWindow,
  type ReadReasons,
  readAlongIndexes,
  readQueue,
  readReasons,
  topAgents,
} from "../../store/membranes/overview.ts";
import type { Packs } from "../policies/read-packs.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { storableUs } from "../shared/storable-time.ts";

/** What the caller asks for; times in RFC 3339. */
export interface OverviewRequest {
  readonly from?: string;
  readonly to?: string;
  readonly membrane_id?: string;
  readonly mode?: PipelineMode;
}

const window_us_max = 31 * us_per_day;
/** The figures lack at most what happened in so many seconds. */
const overview_behind_s_max = 5;
/** About this many buckets: a bar each on a small screen. */
const buckets_aim = 48;
const bucket_sizes_seconds = [60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400] as const;

/** The counts. Faults: invalid_request (a window that is empty, turned round, or longer than 31 days). */
export async function readOverview(
  runtime: Pick<Runtime, "db" | "clock" | "latencies">,
  packs: Packs,
  { org_id }: Pick<Caller, "org_id">,
  request: OverviewRequest,
): Promise<Overview> {
  const window = windowOf(request, runtime.clock.now_us());
  const from_us = parseTimestampUs(window.from) as number;
  return runtime.db.reading(org_id, { within_s: overview_behind_s_max }, async (query) => {
    await readAlongIndexes(query);
    const counted = await countDecisions(query, org_id, window);
    const reasons = await readReasons(query, org_id, window);
    const agents = await topAgents(query, org_id, window);
    const queue = await readQueue(query, org_id);
    const risk = Array.from({ length: 10 }, () => 0);
    const buckets = new Map<string, Overview["buckets"][number]>();
    let [decisions, held] = [0, 0];
    for (const { bucket, mode, verdict, bin, count } of counted) {
      decisions += count;
      if (verdict !== "approve") held += count;
      if (bin !== null) risk[bin] = (risk[bin] ?? 0) + count;
      const at = formatTimestampUs(from_us + bucket * window.bucket_seconds * us_per_second);
      const key = `${at} ${mode} ${verdict}`;
      const known = buckets.get(key);
      buckets.set(key, { at, mode, verdict, count: count + (known?.count ?? 0) });
    }
    return {
      from: window.from,
      to: window.to,
      bucket_seconds: window.bucket_seconds,
      buckets: [...buckets.values()],
      decisions,
      complete: !maybeCut(decisions),
      risk,
      policies: reasons.policies,
      missing_facts: missingFacts(reasons, packs, decisions === 0 ? 0 : held / decisions),
      agents,
      queue,
      latency: runtime.latencies.of(org_id),
    };
  });
}

/** What to do when a membrane goes live, by its decisions in shadow. */
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

/** `held_share`: the share of the decisions that are no plain approvals, of which the reasons of the newest were read. */
function missingFacts({ facts, read, missing }: ReadReasons, packs: Packs, held_share: number): MissingFacts {
  const names = new Map(
    [...packs.values()].flatMap(({ name, rules }) => rules.map((rule) => [rule.metadata.name, name])),
  );
  /** Null for an organization's own policy, also one that is called like a pack's rule. */
  const packOf = (policy_id: string, policy: string) =>
    policy_id === packRuleId(policy) ? (names.get(policy) ?? null) : null;
  const found = {
    decisions: missing,
    share: read === 0 ? 0 : (missing / read) * held_share,
    facts: facts.map((fact) => ({
      ...fact,
      rules: fact.rules.map((rule) => ({ ...rule, pack: packOf(rule.policy_id, rule.policy) })),
    })),
  };
  return { ...found, next_steps: missingFactSteps(found) };
}

function windowOf(request: OverviewRequest, now_us: number): OverviewWindow {
  const to_us = request.to === undefined ? now_us : storableUs(request.to);
  const from_us = request.from === undefined ? to_us - us_per_day : storableUs(request.from);
  const length_us = to_us - from_us;
  if (!(length_us > 0 && length_us <= window_us_max)) {
    const message = "Let `from` lie before `to`, and at most 31 days.";
    throw faultAt("invalid_request", "/from", "out_of_range", message);
  }
  const wanted_seconds = length_us / us_per_second / buckets_aim;
  return {
    from: formatTimestampUs(from_us),
    to: formatTimestampUs(to_us),
    bucket_seconds: bucket_sizes_seconds.find((seconds) => seconds >= wanted_seconds) ?? 86_400,
    membrane_id: request.membrane_id ?? null,
    mode: request.mode ?? null,
  };
}
