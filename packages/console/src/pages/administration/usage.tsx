import { useQuery } from "@tanstack/react-query";
import { useClient } from "../../api/session.tsx";
import { Figure, FigureLink } from "../../parts/figure.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { QuotaMeter } from "../../parts/quota.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { MonthsChart } from "./usage/months-chart.tsx";

const shown = (count: number | null) => (count === null ? "unlimited" : count.toLocaleString("en"));

export function UsagePage() {
  const client = useClient();
  const query = useQuery({ queryKey: ["usage"], queryFn: () => client.getUsage(), refetchInterval: 30_000 });
  return (
    <>
      <PageHead title="Usage" about="Live decisions count; shadow and test decisions do not. Months are in UTC." />
      <Loaded query={query} what="the usage">
        {(usage) => (
          <div className="stack">
            <div className="figures">
              <FigureLink
                to="/decisions"
                search={{ mode: "live", from: usage.period_start } as never}
                name="Used this month"
                value={shown(usage.used_actions)}
                about={
                  <>
                    {"starts again "}
                    <Time at={usage.period_end} />
                  </>
                }
              />
              <Figure name="Included" value={shown(usage.included_actions)} about={`in the plan “${usage.plan_id}”`} />
              <Figure
                name="Hard limit"
                value={shown(usage.hard_limit)}
                about={usage.hard_limit === null ? "no intent is refused" : "intents above it are refused"}
              />
            </div>
            <QuotaMeter usage={usage} />
            <section className="card stack" aria-labelledby="usage-months">
              <h2 id="usage-months">Months</h2>
              <MonthsChart usage={usage} />
            </section>
          </div>
        )}
      </Loaded>
    </>
  );
}
