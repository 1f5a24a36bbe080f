import { useQuery } from "@tanstack/react-query";
import { useClient } from "../../api/session.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { QuotaMeter } from "../../parts/quota.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ExactTime } from "../../parts/time.tsx";

const shown = (count: number | null) => (count === null ? "unlimited" : count.toLocaleString("en"));

export function UsagePage() {
  const client = useClient();
  const query = useQuery({ queryKey: ["usage"], queryFn: () => client.getUsage(), refetchInterval: 30_000 });
  return (
    <>
      <PageHead title="Usage" about="Live decisions count; shadow and test decisions do not." />
      <section className="card stack">
        <Loaded query={query} what="the usage">
          {(usage) => (
            <>
              <QuotaMeter usage={usage} />
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
