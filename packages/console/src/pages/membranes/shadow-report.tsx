import type { Membrane, Verdict } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient } from "../../api/session.tsx";
import { beginOf } from "../../browser/clock.ts";
import { useSeen } from "../../browser/seen.ts";
import { HorizontalBars } from "../../parts/charts.tsx";
import { MissingFacts } from "../../parts/missing-facts.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";

export function ShadowReport({ membrane }: { readonly membrane: Membrane }) {
  const client = useClient();
  const [element, seen] = useSeen<HTMLDivElement>();
  const query = useQuery({
    queryKey: ["overview", "shadow-report", membrane.membrane_id],
    enabled: seen,
    queryFn: () =>
      client.getOverview({ from: beginOf(31 * 86_400_000), membrane_id: membrane.membrane_id, mode: "shadow" }),
    staleTime: 30_000,
  });
  return (
    <div className="stack tight" ref={element}>
      <h3>Actions it would have stopped in the last 31 days</h3>
      <Loaded query={query} what="the report">
        {(report) => {
          const count = (verdict: Verdict) =>
            report.buckets.reduce((sum, each) => (each.verdict === verdict ? sum + each.count : sum), 0);
          const { membrane_id } = membrane;
          const decisions = (done: string, verdict: Verdict) => (
            <Link to="/decisions" search={{ mode: "shadow", verdict, membrane_id, from: report.from } as never}>
              {`${done} ${count(verdict).toLocaleString("en")}`}
            </Link>
          );
          if (!report.complete)
            return <p className="muted">The service is still counting earlier decisions. Come back in some minutes.</p>;
          if (report.decisions === 0)
            return <p className="muted">No decision in shadow yet: let agents submit actions before you go live.</p>;
          return (
            <>
              <p>
                {`Of ${report.decisions.toLocaleString("en")} actions it would have `}
                {decisions("blocked", "block")}
                {", "}
                {decisions("asked a person about", "escalate")}
                {", and "}
                {decisions("changed", "approve_modified")}.
              </p>
              <HorizontalBars
                rows={report.policies.slice(0, 6).map((each) => ({
                  key: `${each.policy} ${each.effect}`,
                  label: (
                    <Link
                      to="/decisions"
                      search={{ mode: "shadow", rule: each.policy, membrane_id, from: report.from } as never}
                    >
                      <Data text={each.policy} chars_max={80} more={false} />
                    </Link>
                  ),
                  count: each.count,
                }))}
              />
              {report.missing_facts.facts.length > 0 && (
                <>
                  <h3>Missing facts</h3>
                  <MissingFacts missing_facts={report.missing_facts} />
                </>
              )}
            </>
          );
        }}
      </Loaded>
    </div>
  );
}
