/** What a change of rules would have meant for what was decided already. */
import { type Backtest, type BacktestInput, type BacktestProgress, limits, type Verdict } from "@countersign/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useClient } from "../api/session.tsx";
import { nowMs } from "../browser/clock.ts";
import { FilterField, SelectField } from "../parts/forms/field.tsx";
import { MembraneFilter } from "../parts/forms/filter-fields.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ActionName } from "../parts/records/action-name.tsx";
import { VerdictBadge, verdictWord } from "../parts/records/badge.tsx";
import { Empty, Failed, Loading } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Wide } from "../parts/tables/scrolls.tsx";
import { spanText, Time } from "../parts/time.tsx";
import { useFilters } from "../shell/filters.ts";

const severity: Record<Verdict, number> = { approve: 0, approve_modified: 1, escalate: 2, block: 3 };
const verdicts = Object.keys(severity) as Verdict[];

/** How far back the recorded actions go, in days. */
const windows = [
  ["1", "the last day"],
  ["7", "the last 7 days"],
  ["31", "the last 31 days"],
  ["92", "the last 3 months"],
] as const;

export function BacktestPage() {
  const client = useClient();
  const [filters, setFilters] = useFilters(["policy_id", "days", "membrane_id", "agent_id"]);
  const policies = useQuery({
    queryKey: ["policies", "all"],
    queryFn: async () => (await client.listPolicies({ limit: 200 })).policies,
  });
  // An address may say anything.
  const days = windows.some(([value]) => value === filters.days) ? (filters.days as string) : "7";
  const { policy_id = "", membrane_id, agent_id } = filters;
  // Read by its id: the list above ends after 200, and may not be there yet.
  const chosen = useQuery({
    queryKey: ["policies", "one", policy_id],
    queryFn: () => client.getPolicy(policy_id),
    enabled: policy_id !== "",
  });
  const isListed = policies.data?.some((each) => each.policy_id === policy_id) ?? false;
  const [progress, setProgress] = useState<BacktestProgress | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = useMutation({
    mutationFn: async () => {
      setProgress(null);
      const stopping = new AbortController();
      stop.current = stopping;
      const policy = policy_id === "" ? null : await client.getPolicy(policy_id);
      const to_ms = nowMs();
      const input: BacktestInput = {
        window: { from: new Date(to_ms - Number(days) * 86_400_000).toISOString(), to: new Date(to_ms).toISOString() },
        ...(policy === null ? {} : { candidate: { policies: [policy.document] } }),
        ...(membrane_id ? { membrane_id } : {}),
        ...(agent_id ? { agent_id } : {}),
      };
      return client.backtest(input, { on_progress: setProgress, signal: stopping.signal });
    },
  });
  const { reset } = run;
  // A result stands only below the form that it was asked with.
  // biome-ignore lint/correctness/useExhaustiveDependencies: whatever the form asks for
  useEffect(() => {
    stop.current?.abort();
    reset();
  }, [reset, policy_id, membrane_id, agent_id, days]);
  return (
    <>
      <PageHead
        title="Backtest"
        about="Decides recorded actions again, with the facts and the time they had, under other rules. Nothing is changed."
      />
      <form
        className="card stack"
        onSubmit={(event) => {
          event.preventDefault();
          run.mutate();
        }}
      >
        <div className="filters">
          <SelectField
            label="Rules"
            data-wide
            value={policy_id}
            onChange={(event) => setFilters({ policy_id: event.target.value })}
            options={[
              ["", "As recorded (a check)"],
              ...(policies.data ?? []).map(
                ({ policy_id, name, version }) => [policy_id, `${name}, version ${version}`] as const,
              ),
              ...(policy_id === "" || isListed
                ? []
                : [
                    [
                      policy_id,
                      chosen.data ? `${chosen.data.name}, version ${chosen.data.version}` : policy_id,
                    ] as const,
                  ]),
            ]}
          />
          <SelectField
            label="Actions of"
            value={days}
            onChange={(event) => setFilters({ days: event.target.value })}
            options={windows}
          />
          <MembraneFilter filter={filters.membrane_id} onFilter={(membrane_id) => setFilters({ membrane_id })} />
          <FilterField
            label="Agent"
            maxLength={limits.agent_id_chars_max}
            filter={filters.agent_id}
            onFilter={(agent_id) => setFilters({ agent_id })}
          />
          <button
            type="submit"
            className="button primary"
            disabled={run.isPending || (policy_id !== "" && chosen.data === undefined)}
          >
            {run.isPending ? "Deciding again …" : "Run"}
          </button>
        </div>
        {chosen.error !== null && <Failed error={chosen.error} retry={() => void chosen.refetch()} />}
        {policy_id !== "" && (
          <p className="small muted">
            As if the newest version of this policy had been in force, in place of the one that was, beside all other
            rules.
          </p>
        )}
      </form>
      {run.isIdle && (
        <section className="card">
          <Empty title="Nothing decided again yet">
            <p>
              Choose a policy to see which recorded verdicts its newest version would change, or run the check: as
              recorded, every verdict has to come out the same.
            </p>
          </Empty>
        </section>
      )}
      {run.isPending && (
        <section className="card stack tight">
          <Loading what="the backtest" />
          <div className="row between">
            <span className="small muted" aria-live="polite">
              {progress === null ? "Beginning …" : `${progress.evaluated.toLocaleString("en")} decided again`}
            </span>
            <button type="button" className="button small" onClick={() => stop.current?.abort()}>
              Stop
            </button>
          </div>
        </section>
      )}
      {run.error !== null &&
        (run.error.name === "AbortError" ? (
          <section className="card" role="status">
            <Empty title="Stopped before its end">
              <p>Nothing was changed. Run it again, or over a shorter time.</p>
            </Empty>
          </section>
        ) : (
          <section className="card">
            <Failed error={run.error} retry={() => run.mutate()} />
          </section>
        ))}
      {run.data !== undefined && !run.isPending && <Result result={run.data} />}
    </>
  );
}

const percent = (value: number | null) => (value === null ? "–" : `${(value * 100).toFixed(1)} %`);

function Result({ result }: { readonly result: Backtest }) {
  if (result.evaluated === 0)
    return (
      <section className="card">
        <Empty title="Nothing was recorded in this time">
          <p>Choose a longer time, or let agents ask for a while.</p>
        </Empty>
      </section>
    );
  return (
    <>
      <div className="figures">
        <div className="card figure">
          <span className="muted small">Decided again</span>
          <b>{result.evaluated.toLocaleString("en")}</b>
          <span className="small muted">{`in ${spanText(result.elapsed_ms / 1000)}`}</span>
        </div>
        <div className="card figure">
          <span className="muted small">Same verdict</span>
          <b>{percent(result.reproduced ?? 1 - result.flips_total / result.evaluated)}</b>
          <span className="small muted">{`${result.flips_total.toLocaleString("en")} would change`}</span>
        </div>
        <div className="card figure">
          <span className="muted small">Reviews a day</span>
          <b>{result.escalations_per_day.candidate.toFixed(1)}</b>
          <span className="small muted">{`recorded ${result.escalations_per_day.recorded.toFixed(1)}`}</span>
        </div>
        <div className="card figure">
          <span className="muted small">Agrees with reviewers</span>
          <b>{percent(result.human_agreement)}</b>
          <span className="small muted">
            {result.human_agreement === null
              ? "no person has ruled on any of these"
              : "of what people ruled on and these rules would not ask about"}
          </span>
        </div>
      </div>
      <section className="card stack tight">
        <h2>From recorded to candidate</h2>
        <Matrix result={result} />
      </section>
      {result.not_reproduced.total > 0 && (
        <section className="card stack tight">
          <h2>{`${result.not_reproduced.total.toLocaleString("en")} could not be decided again as they were`}</h2>
          <ul className="plain stack tight small">
            {result.not_reproduced.intents.slice(0, 20).map((each) => (
              <li key={each.intent_id}>
                <Link className="mono" to="/decisions/$intent_id" params={{ intent_id: each.intent_id }}>
                  {each.intent_id}
                </Link>{" "}
                {each.because.replaceAll("_", " ")}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section className="card stack tight">
        <h2>Verdicts that would be others</h2>
        <Flips flips={result.flips} total={result.flips_total} />
      </section>
      <div className="grid-2">
        <section className="card stack tight">
          <h2>By rule</h2>
          <ListTable heads={["Rule", "Fired", "Decisive"]} numbers={2} caption="How often each rule fired">
            {result.per_policy.slice(0, 50).map((each) => (
              <tr key={each.policy}>
                <td>
                  <Data text={each.policy} />
                </td>
                <td className="num">{each.fired.toLocaleString("en")}</td>
                <td className="num">{each.decisive.toLocaleString("en")}</td>
              </tr>
            ))}
          </ListTable>
        </section>
        <section className="card stack tight">
          <h2>Facts that were missing</h2>
          {result.unknown_facts.length === 0 && <p className="muted">None.</p>}
          <ul className="plain stack tight small">
            {result.unknown_facts.slice(0, 30).map((each) => (
              <li key={each.path} className="row between">
                <span className="mono">
                  <Data text={each.path} />
                </span>
                {each.count.toLocaleString("en")}
              </li>
            ))}
          </ul>
        </section>
      </div>
    </>
  );
}

function Matrix({ result }: { readonly result: Backtest }) {
  const count = (from: Verdict, to: Verdict) =>
    result.transitions.reduce((sum, each) => (each.from === from && each.to === to ? sum + each.count : sum), 0);
  return (
    <Wide label="How many verdicts became which">
      <table className="list matrix">
        <caption className="sr">How many verdicts became which</caption>
        <thead>
          <tr>
            <td />
            {verdicts.map((to) => (
              <th key={to} scope="col">{`then ${verdictWord(to)}`}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {verdicts.map((from) => (
            <tr key={from}>
              <th scope="row">{verdictWord(from)}</th>
              {verdicts.map((to) => {
                const found = count(from, to);
                const tone =
                  from === to ? "same" : found === 0 ? "" : severity[to] > severity[from] ? "worse" : "better";
                return (
                  <td key={to} className={tone}>
                    {found.toLocaleString("en")}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function Flips({ flips, total }: { readonly flips: Backtest["flips"]; readonly total: number }) {
  if (flips.length === 0) return <p className="muted">No verdict would have been another.</p>;
  return (
    <div className="scroll">
      {total > 100 && <p className="small muted">{`The newest 100 of ${total.toLocaleString("en")}.`}</p>}
      <table className="list">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Agent</th>
            <th scope="col">Action</th>
            <th scope="col">Recorded</th>
            <th scope="col">Candidate</th>
            <th scope="col">Rules</th>
          </tr>
        </thead>
        <tbody>
          {flips.slice(0, 100).map((flip) => (
            <tr key={flip.intent_id}>
              <td>
                <Link to="/decisions/$intent_id" params={{ intent_id: flip.intent_id }}>
                  <Time at={flip.submitted_at} />
                </Link>
              </td>
              <td>
                <Data text={flip.agent_id} chars_max={80} />
              </td>
              <td>
                <ActionName type={flip.action.type} verb={flip.action.verb} />
              </td>
              <td>
                <VerdictBadge verdict={flip.from} />
              </td>
              <td>
                <VerdictBadge verdict={flip.to} />
              </td>
              <td>
                <Data text={flip.policies.join(", ")} />
                {flip.reasons.map((reason) => (
                  <div key={`${reason.policy} ${reason.message}`} className="small muted">
                    <Data text={reason.message} chars_max={200} />
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
