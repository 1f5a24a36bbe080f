import type { Overview } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useSubmits } from "../../api/session.tsx";
import { DecisionsChart, HorizontalBars, RiskChart } from "../../parts/charts.tsx";
import { MissingFacts } from "../../parts/missing-facts.tsx";
import { EffectBadge } from "../../parts/records/badge.tsx";
import { Empty } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Latency, Quota } from "./limits.tsx";
import { ReviewPeople } from "./people.tsx";
import { changeText, type OverviewFilters, rowsBehind } from "./rows-behind.ts";

interface FiguresProps {
  readonly overview: Overview;
  readonly filters: OverviewFilters;
}

export function Figures({
  overview,
  filters,
  onZoom,
}: FiguresProps & { readonly onZoom: (from: string, to: string) => void }) {
  if (overview.decisions === 0)
    return (
      <>
        {overview.complete ? <NoDecisions /> : <StillCounting />}
        <div className="grid-2">
          <ReviewPeople people={overview.people} />
          <div className="stack">
            <Latency latency={overview.latency} />
            <Quota />
          </div>
        </div>
      </>
    );
  return (
    <>
      <div className="grid-2">
        <section className="card stack tight">
          <h2>Decisions over time</h2>
          <p className="small muted">Drag over a part to see only this period.</p>
          <DecisionsChart
            overview={overview}
            onZoom={onZoom}
            rowsOf={(verdict) => rowsBehind(overview, filters, { verdict })}
          />
          <Modes overview={overview} filters={filters} />
        </section>
        <StoppingRules overview={overview} filters={filters} />
        <HeldAgents overview={overview} filters={filters} />
        <ReviewPeople people={overview.people} />
      </div>
      {overview.missing_facts.facts.length > 0 && (
        <section className="card stack tight" aria-label="Missing facts">
          <h2>Missing facts</h2>
          <MissingFacts missing_facts={overview.missing_facts} />
        </section>
      )}
      <div className="grid-2">
        <section className="card stack tight">
          <h2>Risk</h2>
          <p className="small muted">Number of decisions by risk, from 0 (harmless) to 1 (certain harm).</p>
          <RiskChart risk={overview.risk} />
        </section>
        <div className="stack">
          <Latency latency={overview.latency} />
          <Quota />
        </div>
      </div>
    </>
  );
}

function StillCounting() {
  return (
    <section className="card">
      <Empty title="Still counting">
        <p>The service is counting earlier decisions, for example after an upgrade. This page shows them after that.</p>
      </Empty>
    </section>
  );
}

function NoDecisions() {
  const submits = useSubmits();
  return (
    <section className="card">
      <Empty title="No decisions in this time">
        <p>{submits ? "Choose a longer time, or send a test intent." : "Choose a longer time."}</p>
        {submits && <Link to="/settings">Send a test intent</Link>}
      </Empty>
    </section>
  );
}

function Modes({ overview, filters }: FiguresProps) {
  const modes = (["live", "shadow", "test"] as const).map(
    (mode) => [mode, overview.buckets.reduce((sum, each) => (each.mode === mode ? sum + each.count : sum), 0)] as const,
  );
  return (
    <p className="row small">
      <span className="muted">By mode:</span>
      {modes.map(([mode, count]) => (
        <Link key={mode} to="/decisions" search={rowsBehind(overview, { ...filters, mode })}>
          {`${mode} ${count.toLocaleString("en")}`}
        </Link>
      ))}
    </p>
  );
}

function StoppingRules({ overview, filters }: FiguresProps) {
  const { policies, before, complete } = overview;
  const earlier = new Map(before.policies.map((each) => [`${each.policy_id} ${each.effect}`, each.count]));
  return (
    <section className="card stack tight">
      <h2>Rules that acted</h2>
      {policies.length === 0 && <p className="muted">No rule stopped or changed anything.</p>}
      <HorizontalBars
        rows={policies.map(({ policy_id, policy, effect, count, missing_facts }) => ({
          key: `${policy_id} ${effect}`,
          count,
          change: complete && before.complete ? changeText(count, earlier.get(`${policy_id} ${effect}`) ?? 0) : "",
          label: (
            <span className="row">
              <Link to="/decisions" search={rowsBehind(overview, filters, { rule: policy })}>
                <Data text={policy} chars_max={80} more={false} />
              </Link>
              <EffectBadge effect={effect} />
              {missing_facts > 0 && <MissingShare share={missing_facts / count} />}
            </span>
          ),
        }))}
      />
    </section>
  );
}

/** The service counts the most frequent missing fact of a rule, so the share may be larger. */
function MissingShare({ share }: { readonly share: number }) {
  const percent = `${(share * 100).toLocaleString("en", { maximumFractionDigits: 0 })} %`;
  return (
    <span className="muted" title="At least this share acted because a fact was missing or stale">
      {`${percent} for missing facts`}
    </span>
  );
}

/** The busiest agents, those with the most held actions first. */
function HeldAgents({ overview, filters }: FiguresProps) {
  const agents = overview.agents.toSorted((a, b) => b.held - a.held || b.count - a.count);
  return (
    <section className="card stack tight">
      <h2>Agents</h2>
      <p className="small muted">The busiest. Those with the most held or blocked actions are first.</p>
      <HorizontalBars
        rows={agents.map(({ agent_id, count, held }) => ({
          key: agent_id,
          count,
          label: (
            <>
              <Link to="/decisions" search={rowsBehind(overview, filters, { agent_id })}>
                <Data text={agent_id} chars_max={60} more={false} />
              </Link>
              <span className="muted">{` ${held.toLocaleString("en")} held or blocked`}</span>
            </>
          ),
        }))}
      />
    </section>
  );
}
