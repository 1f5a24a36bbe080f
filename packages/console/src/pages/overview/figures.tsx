import type { Overview } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useSubmits } from "../../api/session.tsx";
import { DecisionsChart, HorizontalBars, RiskChart } from "../../parts/charts.tsx";
import { Figure } from "../../parts/figure.tsx";
import { MissingFacts } from "../../parts/missing-facts.tsx";
import { Badge } from "../../parts/records/badge.tsx";
import { Empty } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Time } from "../../parts/time.tsx";
import { Latency, Quota } from "./limits.tsx";

export function Figures({ overview }: { readonly overview: Overview }) {
  return (
    <>
      <Totals overview={overview} />
      {overview.decisions === 0 ? (
        <>
          {overview.complete ? <NoDecisions /> : <StillCounting />}
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
          {overview.missing_facts.facts.length > 0 && (
            <section className="card stack tight" aria-label="Missing facts">
              <h2>Missing facts</h2>
              <MissingFacts missing_facts={overview.missing_facts} />
            </section>
          )}
          <div className="grid-2">
            <Risk overview={overview} />
            <div className="stack">
              <Latency latency={overview.latency} />
              <Quota />
            </div>
            <StoppingRules policies={overview.policies} />
            <BusiestAgents agents={overview.agents} />
          </div>
        </>
      )}
    </>
  );
}

function Totals({ overview }: { readonly overview: Overview }) {
  const total = (verdict: string) =>
    overview.buckets.reduce((sum, each) => (each.verdict === verdict ? sum + each.count : sum), 0);
  const share = (count: number) =>
    overview.decisions === 0 ? "–" : `${((count / overview.decisions) * 100).toFixed(1)} %`;
  const blocked = total("block");
  const escalated = total("escalate");
  const { pending, oldest_at } = overview.queue;
  return (
    <div className="figures">
      <Figure
        name="Decisions"
        value={overview.decisions.toLocaleString("en")}
        about={overview.complete ? "all counted" : <CountedSoFar overview={overview} />}
      />
      <Figure name="Blocked" value={blocked.toLocaleString("en")} about={share(blocked)} />
      <Figure name="Escalated" value={escalated.toLocaleString("en")} about={share(escalated)} />
      <Figure
        name="Waiting for review"
        value={pending.toLocaleString("en")}
        about={
          oldest_at === null ? (
            "nothing waits"
          ) : (
            <>
              {"oldest "}
              <Time at={oldest_at} />
              {" · "}
              <Link to="/review">open</Link>
            </>
          )
        }
      />
      {overview.contradictions > 0 && (
        <Figure
          name="Executed, not allowed"
          value={overview.contradictions.toLocaleString("en")}
          about={
            <Link to="/audit" search={{ type: "contradicted" } as never}>
              see which
            </Link>
          }
        />
      )}
    </div>
  );
}

function CountedSoFar({ overview: { as_of } }: { readonly overview: Overview }) {
  if (as_of.at === null) return "still counting";
  return (
    <>
      {"still counting, now up to "}
      <Time at={as_of.at} />
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

function Risk({ overview: { risk } }: { readonly overview: Overview }) {
  return (
    <section className="card stack tight">
      <h2>Risk</h2>
      <RiskChart risk={risk} />
    </section>
  );
}

function StoppingRules({ policies }: { readonly policies: Overview["policies"] }) {
  return (
    <section className="card stack tight">
      <h2>Rules that stopped or changed most</h2>
      {policies.length === 0 && <p className="muted">No rule stopped or changed anything.</p>}
      <HorizontalBars
        rows={policies.map(({ policy_id, policy, effect, count }) => ({
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
  );
}

function BusiestAgents({ agents }: { readonly agents: Overview["agents"] }) {
  return (
    <section className="card stack tight">
      <h2>Busiest agents</h2>
      <HorizontalBars
        rows={agents.map(({ agent_id, count, held }) => ({
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
  );
}
