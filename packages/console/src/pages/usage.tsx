/** This month's use of the plan. */
import { useQuery } from "@tanstack/react-query";
import { useClient } from "../api/session.tsx";
import { Data } from "../parts/data.tsx";
import { Meter } from "../parts/decision-parts.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Loaded } from "../parts/states.tsx";
import { ExactTime } from "../parts/time.tsx";

const shown = (count: number | null) => (count === null ? "unlimited" : count.toLocaleString("en"));

export function UsagePage() {
  const client = useClient();
  const query = useQuery({ queryKey: ["usage"], queryFn: () => client.getUsage() });
  return (
    <>
      <PageHead title="Usage" about="Live decisions count; shadow and test decisions do not." />
      <section className="card stack">
        <Loaded query={query} what="the usage">
          {(usage) => (
            <>
              {usage.hard_limit !== null && (
                <Meter
                  share={usage.used_actions / Math.max(1, usage.hard_limit)}
                  hot={usage.used_actions >= usage.hard_limit * 0.9}
                  label={`${usage.used_actions} of ${usage.hard_limit} used`}
                />
              )}
              {usage.hard_limit !== null && usage.used_actions >= usage.hard_limit && (
                <div className="banner bad">
                  <div>
                    <strong>The limit is reached: new intents are refused</strong>
                    Ask the operator of this service for a larger plan, or wait for the next period.
                  </div>
                </div>
              )}
              <dl className="pairs">
                <dt>Plan</dt>
                <dd>
                  <Data text={usage.plan_id} />
                </dd>
                <dt>Used this month</dt>
                <dd>{shown(usage.used_actions)}</dd>
                <dt>Included</dt>
                <dd>{shown(usage.included_actions)}</dd>
                <dt>Hard limit</dt>
                <dd>{shown(usage.hard_limit)}</dd>
                <dt>Period</dt>
                <dd>
                  <ExactTime at={usage.period_start} /> – <ExactTime at={usage.period_end} />
                </dd>
              </dl>
            </>
          )}
        </Loaded>
      </section>
    </>
  );
}
