/** How things stand. */
import type { Overview, PipelineMode } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient, useReads, useSession, useSubmits } from "../api/session.tsx";
import { beginOf } from "../browser/clock.ts";
import { DecisionsChart, HorizontalBars, RiskChart } from "../parts/charts.tsx";
import { SelectField } from "../parts/forms/field.tsx";
import { MembraneFilter, ModeFilter } from "../parts/forms/filter-fields.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { QuotaMeter } from "../parts/quota.tsx";
import { Badge } from "../parts/records/badge.tsx";
import { ShadowBanner } from "../parts/shadow-banner.tsx";
import { Empty, Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { Time } from "../parts/time.tsx";
import { useFilters } from "../shell/filters.ts";

const spans = { hour: 1, day: 24, week: 24 * 7, month: 24 * 31 } as const;

export function OverviewPage() {
  const reads = useReads();
  const { caller } = useSession();
  if (reads) return <Counts />;
  return (
    <>
      <PageHead title="Overview" />
      <section className="card">
        <Empty title={`A key of role ${caller?.role} sees its own decisions only`}>
          <Link to="/decisions">Decisions of this key</Link>
        </Empty>
      </section>
    </>
  );
}

function Counts() {
  const client = useClient();
  const [filters, setFilters] = useFilters(["span", "mode", "membrane_id"]);
  // An address may say anything.
  const span = Object.hasOwn(spans, filters.span ?? "") ? (filters.span as keyof typeof spans) : "day";
  const hours = spans[span];
  const query = useQuery({
    queryKey: ["overview", hours, filters.mode, filters.membrane_id],
    queryFn: () =>
      client.getOverview({
        from: beginOf(hours * 3_600_000),
        ...(filters.mode ? { mode: filters.mode as PipelineMode } : {}),
        ...(filters.membrane_id ? { membrane_id: filters.membrane_id } : {}),
      }),
    refetchInterval: 20_000,
    placeholderData: (before) => before,
  });
  return (
    <>
      <PageHead title="Overview" about="What agents asked for, and what became of it." />
      <ShadowBanner where="overview" />
      <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <SelectField
          label="Time"
          value={span}
          onChange={(event) => setFilters({ span: event.target.value === "day" ? "" : event.target.value })}
          options={[
            ["hour", "Last hour"],
            ["day", "Last 24 hours"],
            ["week", "Last 7 days"],
            ["month", "Last 31 days"],
          ]}
        />
        <ModeFilter filter={filters.mode} onFilter={(mode) => setFilters({ mode })} />
        <MembraneFilter filter={filters.membrane_id} onFilter={(membrane_id) => setFilters({ membrane_id })} />
      </form>
      <Loaded query={query} what="the overview">
        {(overview) => <Figures overview={overview} />}
      </Loaded>
    </>
  );
}

function Figures({ overview }: { readonly overview: Overview }) {
  const total = (verdict: string) =>
    overview.buckets.reduce((sum, each) => (each.verdict === verdict ? sum + each.count : sum), 0);
  const share = (count: number) =>
    overview.decisions === 0 ? "–" : `${((count / overview.decisions) * 100).toFixed(1)} %`;
  const submits = useSubmits();
  const rated = overview.risk.reduce((sum, count) => sum + count, 0);
  const { queue } = overview;
  return (
    <>
      <div className="figures">
        <div className="card figure">
          <span className="muted small">Decisions</span>
          <b>{overview.decisions.toLocaleString("en")}</b>
          <span className="small muted">{overview.complete ? "all counted" : "the newest of more"}</span>
        </div>
        <div className="card figure">
          <span className="muted small">Blocked</span>
          <b>{total("block").toLocaleString("en")}</b>
          <span className="small muted">{share(total("block"))}</span>
        </div>
        <div className="card figure">
          <span className="muted small">Escalated</span>
          <b>{total("escalate").toLocaleString("en")}</b>
          <span className="small muted">{share(total("escalate"))}</span>
        </div>
        <div className="card figure">
          <span className="muted small">Waiting for review</span>
          <b>{queue.pending.toLocaleString("en")}</b>
          <span className="small muted">
            {queue.oldest_at === null ? (
              "nothing waits"
            ) : (
              <>
                {"oldest "}
                <Time at={queue.oldest_at} />
                {" · "}
                <Link to="/review">open</Link>
              </>
            )}
          </span>
        </div>
      </div>
      {overview.decisions === 0 ? (
        <>
          <section className="card">
            <Empty title="No decisions in this time">
              <p>{submits ? "Choose a longer time, or send a test intent." : "Choose a longer time."}</p>
              {submits && <Link to="/settings">Send a test intent</Link>}
            </Empty>
          </section>
          <div className="grid-2">
            <Latency latency={overview.latency} />
            <Quota />
          </div>
        </>
      ) : (
        <>
          <section className="card stack tight">
            <h2>Decisions over time</h2>
            <DecisionsChart overview={overview} />
            <Modes overview={overview} />
          </section>
          <div className="grid-2">
            <section className="card stack tight">
              <h2>Risk</h2>
              <RiskChart risk={overview.risk} />
              {rated < overview.decisions && (
                <p className="small muted">
                  {`Of ${rated.toLocaleString("en")} decisions: only the newest of very many large ones are read for this.`}
                </p>
              )}
            </section>
            <div className="stack">
              <Latency latency={overview.latency} />
              <Quota />
            </div>
            <section className="card stack tight">
              <h2>Rules that stopped or changed most</h2>
              {overview.policies.length === 0 && <p className="muted">No rule stopped or changed anything.</p>}
              <HorizontalBars
                rows={overview.policies.map(({ policy_id, policy, effect, count }) => ({
                  key: `${policy_id} ${effect}`,
                  count,
                  label: (
                    <span className="row">
                      <Data text={policy} chars_max={80} />
                      <Badge text={effect === "approve_modified" ? "changes" : effect} tone={effect} />
                    </span>
                  ),
                }))}
              />
            </section>
            <section className="card stack tight">
              <h2>Busiest agents</h2>
              <HorizontalBars
                rows={overview.agents.map(({ agent_id, count, held }) => ({
                  key: agent_id,
                  count,
                  label: (
                    <>
                      <Link to="/decisions" search={{ agent_id } as never}>
                        <Data text={agent_id} chars_max={60} />
                      </Link>
                      <span className="muted">{` ${held} held`}</span>
                    </>
                  ),
                }))}
              />
            </section>
          </div>
        </>
      )}
    </>
  );
}

function Modes({ overview }: { readonly overview: Overview }) {
  const modes = (["live", "shadow", "test"] as const).map(
    (mode) => [mode, overview.buckets.reduce((sum, each) => (each.mode === mode ? sum + each.count : sum), 0)] as const,
  );
  return (
    <p className="row small">
      <span className="muted">By mode:</span>
      {modes.map(([mode, count]) => (
        <span key={mode}>{`${mode} ${count.toLocaleString("en")}`}</span>
      ))}
    </p>
  );
}

const milliseconds = (ms: number) => `${ms.toLocaleString("en", { maximumSignificantDigits: 3 })} ms`;

function Latency({ latency }: { readonly latency: Overview["latency"] }) {
  return (
    <section className="card stack tight" aria-label="Latency">
      <h2>Latency</h2>
      {latency === null ? (
        <p className="muted">The node that answers has not decided anything since it started.</p>
      ) : (
        <>
          <dl className="pairs">
            <dt>Half within</dt>
            <dd>{milliseconds(latency.p50_ms)}</dd>
            <dt>95 % within</dt>
            <dd>{milliseconds(latency.p95_ms)}</dd>
            <dt>99 % within</dt>
            <dd>{milliseconds(latency.p99_ms)}</dd>
          </dl>
          <p className="small muted">
            {`From submission to disk, ${latency.count === 1 ? "one decision" : `${latency.count.toLocaleString("en")} decisions`} in any mode, on the node that answers, since `}
            <Time at={latency.since} />
          </p>
        </>
      )}
    </section>
  );
}

function Quota() {
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
