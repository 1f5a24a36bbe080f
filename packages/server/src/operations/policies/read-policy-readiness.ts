import { limits, type NotReady, type PolicyReadiness } from "@countersign/contract";
import { demandOf, Fault, judgePolicyReadiness, type PolicyDocument, verdictFigures } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readBacktestOfVersion } from "../../store/backtests/kept-backtests.ts";
import { readPaceFigures } from "../../store/escalations/pace-figures.ts";
import { readMembranes } from "../../store/membranes/membranes.ts";
import { readPolicy, readPolicyVersions } from "../../store/policies/policies.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { ableAmong } from "../people/reviewers.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

interface Version {
  readonly version: number;
  readonly sha256: string;
  readonly document: PolicyDocument;
}

/** Returns whether a version of a policy is ready to be activated, by its newest kept backtest. Faults: not_found. */
export function readPolicyReadiness(
  { db }: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  policy_id: string,
  asked?: number,
): Promise<PolicyReadiness> {
  return db.tenant(org_id, async (query) => {
    const version = await readVersion(query, org_id, policy_id, asked);
    const figures = await figuresOf(query, org_id, version);
    const not_ready = judgePolicyReadiness(figures);
    const verdict = not_ready.length === 0 ? "ready" : "not_yet";
    return { policy_id, version: version.version, verdict, not_ready, figures };
  });
}

/** Returns why this version is not ready; empty: it is. */
export function readNotReady(
  { db }: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  version: Version,
): Promise<NotReady[]> {
  return db.tenant(org_id, async (query) => judgePolicyReadiness(await figuresOf(query, org_id, version)));
}

async function readVersion(
  query: Query,
  org_id: string,
  policy_id: string,
  asked: number | undefined,
): Promise<Version> {
  const policy = await readPolicy(query, org_id, policy_id);
  if (policy === undefined) throw new Fault("not_found");
  if (asked === undefined || asked === policy.version) return policy;
  const [found] = await readPolicyVersions(query, org_id, policy_id, { limit: 1, before: asked + 1 });
  if (found?.version !== asked) throw new Fault("not_found");
  return found;
}

async function figuresOf(
  query: Query,
  org_id: string,
  { sha256, document }: Version,
): Promise<PolicyReadiness["figures"]> {
  const kept = await readBacktestOfVersion(query, org_id, sha256, limits.policy_readiness_hours);
  if (kept === undefined) return null;
  const { verdicts, per_policy, unknown_facts, backtest_id, flips_total, agrees_with_reviewers } = kept.result;
  const { days, days_seen, recorded, candidate } = verdicts;
  const { name } = document.metadata;
  const { fired = 0, unknown = 0 } = per_policy.find(({ policy }) => policy === name) ?? {};
  const facts = unknown_facts
    .filter(({ policies }) => policies.includes(name))
    .map(({ path, count }) => ({ path, count }));
  const after = verdictFigures(candidate, days);
  const people = (await ableAmong(query, org_id, await reviewersOf(query, org_id, document))).length;
  const { median_seconds } = (await readPaceFigures(query, org_id, await databaseNow(query), null)).team.month;
  const seconds = median_seconds ?? limits.readiness_review_seconds_default;
  return {
    ...{ backtest_id, backtested_at: kept.created_at, days: days_seen, flips: flips_total },
    decisions: Object.values(candidate).reduce((sum, count) => sum + count, 0),
    ...after,
    recorded: verdictFigures(recorded, days),
    reviews: { people, median_seconds, hours_per_day: (after.holds.per_day * seconds) / 3_600 },
    missing_facts: { fired, unknown, facts: facts.slice(0, limits.readiness_listed_max) },
    agrees_with_reviewers,
  };
}

/** The reviewers of all membranes, and those that the policy names. Empty: anyone with the role. */
async function reviewersOf(query: Query, org_id: string, { metadata, spec }: PolicyDocument) {
  const holding = { policy_id: "", name: metadata.name, escalation: spec.escalation ?? {}, approvals_min: 1 } as const;
  const lists = (await readMembranes(query, org_id)).flatMap(({ escalation }) => [
    escalation.reviewers,
    demandOf(holding, escalation).reviewers,
  ]);
  return lists.some((list) => list.length === 0) ? [] : lists.flat();
}
