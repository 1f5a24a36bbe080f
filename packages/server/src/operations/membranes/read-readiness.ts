import { foldName, limits, type MembraneReadiness, type Overview } from "@countersign/contract";
import {
  countInterval,
  formatTimestampUs,
  judgeReadiness,
  parseTimestampUs,
  type ReadinessEvidence,
  shareBounds,
  shareInterval,
  us_per_day,
  us_per_hour,
} from "@countersign/core";
import { readPaceFigures } from "../../store/escalations/pace-figures.ts";
import { readWarnedKeys } from "../../store/keys/key-warnings.ts";
import { areMailsDelayed, readHeldSample, readIdleAgents, readWebhookHealth } from "../../store/membranes/readiness.ts";
import { ableAmong } from "../people/reviewers.ts";
import type { Packs } from "../policies/read-packs.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { getMembrane } from "./membranes.ts";
import { readCoverage } from "./read-coverage.ts";
import { readOverview } from "./read-overview.ts";

export type ReadinessDeps = Pick<Runtime, "db" | "clock" | "callers" | "latencies" | "orgStates" | "mailer">;

/** Returns whether a membrane may go live, by its decisions in shadow of the last 31 days. Faults: not_found. */
export async function readReadiness(
  runtime: ReadinessDeps,
  packs: Packs,
  caller: Caller,
  membrane_id: string,
): Promise<MembraneReadiness> {
  const now_us = runtime.clock.now_us();
  const [from, to] = [formatTimestampUs(now_us - limits.readiness_days * us_per_day), formatTimestampUs(now_us)];
  const membrane = await getMembrane(runtime, caller, membrane_id);
  const overview = await readOverview(runtime, packs, caller, { from, to, membrane_id, mode: "shadow" });
  const coverage = await readCoverage(runtime, caller, membrane_id);
  const counted = countedIn(overview, now_us);
  const seen = await readSeen(runtime, caller.org_id, {
    membrane_id,
    from,
    to,
    reviewers: membrane.escalation.reviewers,
  });
  const used = new Set(coverage.actions.map(({ verb }) => foldName(verb)));
  const unused = membrane.action_catalogue.map(({ verb }) => verb).filter((verb) => !used.has(foldName(verb)));
  const uncovered = coverage.actions.filter(({ rules }) => rules.length === 0);
  const { agents, labels, people, median_seconds, ...others } = seen;
  const evidence: ReadinessEvidence = {
    ...{ membrane_id, from: overview.from, to: overview.to, ...counted, ...others },
    reviews: { people, median_seconds, hours_per_day: reviewHours(counted.holds.per_day, median_seconds) },
    missing_facts: overview.missing_facts,
    uncovered: {
      actions: uncovered.slice(0, limits.readiness_listed_max).map(({ verb, type, count }) => ({ verb, type, count })),
      tools: unused.slice(0, limits.readiness_listed_max),
      agents,
    },
    mail: await mailState(runtime),
    false_holds: { ...labels, ...boundsOf(labels) },
  };
  const not_ready = judgeReadiness(evidence);
  return { ...evidence, verdict: not_ready.length === 0 ? "ready" : "not_yet", not_ready };
}

type Counted = Pick<ReadinessEvidence, "evidence" | "passes" | "holds" | "blocks">;

function countedIn({ buckets, complete, decisions }: Overview, now_us: number): Counted {
  const first = buckets[0]?.at ?? null;
  const days = new Set(buckets.map(({ at }) => at.slice(0, 10))).size;
  const passed = (["approve", "approve_modified"] as const).reduce((sum, verdict) => sum + countOf(verdict), 0);
  // A day at least: the rate of the first hour says little about a day.
  const begun_us = first === null ? now_us : (parseTimestampUs(first) as number);
  const length_days = Math.max(1, Math.ceil((now_us - begun_us) / us_per_hour) / 24);
  const perDay = (count: number) => {
    const { low, high } = countInterval(count);
    return { count, per_day: count / length_days, low: low / length_days, high: high / length_days };
  };
  return {
    evidence: { complete, decisions, days, first_at: first },
    passes: { count: passed, share: decisions === 0 ? 0 : passed / decisions, ...shareInterval(passed, decisions) },
    holds: perDay(countOf("escalate")),
    blocks: perDay(countOf("block")),
  };

  function countOf(verdict: Overview["buckets"][number]["verdict"]): number {
    return buckets.reduce((sum, each) => (each.verdict === verdict ? sum + each.count : sum), 0);
  }
}

interface Looked {
  readonly membrane_id: string;
  readonly from: string;
  readonly to: string;
  readonly reviewers: Parameters<typeof ableAmong>[2];
}

/** Reads what is not counted by figures. */
async function readSeen(
  runtime: Pick<Runtime, "db" | "callers">,
  org_id: string,
  { membrane_id, from, to, reviewers }: Looked,
) {
  await runtime.callers.writeUses(org_id);
  return runtime.db.tenant(org_id, async (query) => ({
    labels: await readHeldSample(query, org_id, membrane_id, from),
    webhooks: await readWebhookHealth(query, org_id, Date.parse(to)),
    agents: await readIdleAgents(query, org_id, from),
    keys: await readWarnedKeys(query, org_id, limits.key_warnings_max, true),
    people: (await ableAmong(query, org_id, reviewers)).length,
    median_seconds: (await readPaceFigures(query, org_id, to, null)).team.month.median_seconds,
  }));
}

async function mailState({ mailer, db }: Pick<Runtime, "mailer" | "db">): Promise<MembraneReadiness["mail"]> {
  if (!mailer.delivers) return "off";
  return (await db.system(areMailsDelayed)) ? "delayed" : "working";
}

function reviewHours(reviews_per_day: number, median_seconds: number | null): number {
  return (reviews_per_day * (median_seconds ?? limits.readiness_review_seconds_default)) / 3_600;
}

function boundsOf({ labelled, wrong }: { readonly labelled: number; readonly wrong: number }) {
  if (labelled === 0) return { share_at_most: null, share_at_least: null };
  const { low, high } = shareBounds(wrong, labelled);
  return { share_at_most: high, share_at_least: low };
}
