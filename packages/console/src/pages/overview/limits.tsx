import type { Overview } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient } from "../../api/session.tsx";
import { QuotaMeter } from "../../parts/quota.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

const milliseconds = (ms: number) => `${ms.toLocaleString("en", { maximumSignificantDigits: 3 })} ms`;

export function Latency({ latency }: { readonly latency: Overview["latency"] }) {
  return (
    <section className="card stack tight" aria-label="Latency">
      <h2>Latency</h2>
      {latency === null ? (
        <p className="muted">The answering node has not decided anything since it started.</p>
      ) : (
        <>
          <dl className="pairs">
            <dt>p50</dt>
            <dd>{milliseconds(latency.p50_ms)}</dd>
            <dt>p95</dt>
            <dd>{milliseconds(latency.p95_ms)}</dd>
            <dt>p99</dt>
            <dd>{milliseconds(latency.p99_ms)}</dd>
          </dl>
          <p className="small muted">
            {`From submission to disk, ${latency.count === 1 ? "one decision" : `${latency.count.toLocaleString("en")} decisions`} in any mode, on the answering node, since `}
            <Time at={latency.since} />
          </p>
        </>
      )}
    </section>
  );
}

export function Quota() {
  const client = useClient();
  const query = useQuery({ queryKey: ["usage"], queryFn: () => client.getUsage(), staleTime: 30_000 });
  return (
    <section className="card stack tight" aria-label="Quota">
      <h2>Quota</h2>
      <Loaded query={query} what="the usage">
        {(usage) => (
          <div className="stack tight">
            <p>
              {`${usage.used_actions.toLocaleString("en")} live decisions this month`}
              {usage.hard_limit === null ? ", unlimited plan" : ` of ${usage.hard_limit.toLocaleString("en")}`}
            </p>
            <QuotaMeter usage={usage} />
            <Link className="small" to="/usage">
              Usage
            </Link>
          </div>
        )}
      </Loaded>
    </section>
  );
}
