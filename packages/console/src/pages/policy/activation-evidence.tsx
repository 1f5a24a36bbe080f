import type { Policy, PolicyReadiness } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient } from "../../api/session.tsx";
import { nowMs } from "../../browser/clock.ts";
import { Badge } from "../../parts/records/badge.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Time } from "../../parts/time.tsx";
import { agreementText, percent, windowOfDays } from "../backtest/words.ts";
import { Reasons } from "../membranes/readiness.tsx";

/** Shows the verdicts of the newest version in the last 7 days. Runs the backtest if nobody has run it today. */
export function ActivationEvidence({ policy }: { readonly policy: Policy }) {
  const query = useEvidence(policy);
  if (query.error !== null)
    return (
      <>
        <p className="small">There is no evidence yet. You can activate the version without it.</p>
        <Failed error={query.error} retry={() => void query.refetch()} />
      </>
    );
  if (query.data === undefined)
    return (
      <div>
        <p className="small muted">Backtesting it on the last 7 days. You need not wait.</p>
        <Loading what="the backtest" />
      </div>
    );
  return <Evidence readiness={query.data} />;
}

function useEvidence({ policy_id, version, document }: Policy) {
  const client = useClient();
  return useQuery({
    queryKey: ["policies", "readiness", policy_id, version],
    queryFn: async ({ signal }) => {
      const known = await client.getPolicyReadiness(policy_id, version);
      if (known.figures !== null) return known;
      const window = windowOfDays(7, nowMs());
      await client.backtest({ candidate: { policies: [document] }, window, keep: true }, { signal });
      return client.getPolicyReadiness(policy_id, version);
    },
    staleTime: 60_000,
    retry: false,
  });
}

const rounded = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 1 });

function Evidence({ readiness: { verdict, not_ready, figures } }: { readonly readiness: PolicyReadiness }) {
  return (
    <div className="stack tight">
      <h3 className="row">
        Ready to activate?
        <Badge text={verdict === "ready" ? "ready" : "not yet"} tone={verdict === "ready" ? "live" : "shadow"} />
      </h3>
      <Reasons not_ready={not_ready} />
      {figures !== null && <Figures figures={figures} />}
    </div>
  );
}

function Figures({ figures }: { readonly figures: NonNullable<PolicyReadiness["figures"]> }) {
  const { backtest_id, backtested_at, decisions, days, flips, passes, holds, blocks, recorded, reviews } = figures;
  const perDay = ({ per_day, low, high }: typeof holds, before: typeof holds) =>
    `${rounded(per_day)} a day (${rounded(low)} to ${rounded(high)}), recorded ${rounded(before.per_day)}`;
  return (
    <>
      <dl className="pairs">
        <dt>Evidence</dt>
        <dd>
          {`${decisions.toLocaleString("en")} actions on ${days} ${days === 1 ? "day" : "days"}, `}
          <Time at={backtested_at} />
        </dd>
        <dt>Would change</dt>
        <dd>
          <Link to="/backtests/$backtest_id" params={{ backtest_id }}>
            {`${flips.toLocaleString("en")} ${flips === 1 ? "verdict" : "verdicts"}`}
          </Link>
        </dd>
        <dt>Would pass</dt>
        <dd>
          {`${percent(passes.share)} (${percent(passes.low)} to ${percent(passes.high)}), recorded ${percent(recorded.passes.share)}`}
        </dd>
        <dt>Would be held</dt>
        <dd>{perDay(holds, recorded.holds)}</dd>
        <dt>Would be blocked</dt>
        <dd>{perDay(blocks, recorded.blocks)}</dd>
        <dt>Reviews</dt>
        <dd>
          {`${rounded(reviews.hours_per_day)} hours a day for ${reviews.people} ${reviews.people === 1 ? "person" : "people"}`}
          {reviews.median_seconds === null && (
            <span className="muted"> (at five minutes each: none was measured yet)</span>
          )}
        </dd>
        <dt>Agrees with reviewers</dt>
        <dd>{agreementText(figures.agrees_with_reviewers)}</dd>
        <MissingFacts missing={figures.missing_facts} />
      </dl>
      <p className="muted small">In brackets: where the true figure is, 95 % sure.</p>
    </>
  );
}

function MissingFacts({
  missing: { fired, unknown, facts },
}: {
  readonly missing: NonNullable<PolicyReadiness["figures"]>["missing_facts"];
}) {
  if (unknown === 0) return null;
  return (
    <>
      <dt>Fired for unknown facts</dt>
      <dd>
        {`${unknown.toLocaleString("en")} of ${fired.toLocaleString("en")} times: `}
        <Data text={facts.map(({ path }) => path).join(", ")} chars_max={300} />
      </dd>
    </>
  );
}
