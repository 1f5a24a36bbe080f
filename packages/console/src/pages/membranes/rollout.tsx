import type { Membrane, Rollout } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../../api/session.tsx";
import { Badge } from "../../parts/records/badge.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { percent, Question, rounded, type Step } from "./rollout-question.tsx";

const first_share = 0.05;

/** The rollout of a membrane: for which share of agents it enforces, and what the stage showed. */
export function RolloutPanel({ membrane }: { readonly membrane: Membrane }) {
  const { membrane_id, status } = membrane;
  const client = useClient();
  const may = useMay("admin");
  const { data: rollout } = useQuery({
    queryKey: ["rollout", membrane_id, status],
    queryFn: () => client.getRollout(membrane_id),
    refetchInterval: 15_000,
  });
  const [asked, setAsked] = useState<Step | null>(null);
  const ask = (step: Step, label: string, tone = "") => (
    <button type="button" className={`button small ${tone}`} onClick={() => setAsked(step)}>
      {label}
    </button>
  );
  if (rollout === undefined || (rollout === null && (status === "live" || !may))) return null;
  const runs = rollout !== null && rollout.status !== "waiting" && rollout.status !== "arrived";
  return (
    <div className="stack tight">
      {rollout === null ? (
        <p className="row between">
          <span className="muted">Begin with few agents: the others stay in shadow until you go on.</span>
          {ask("plan", `Enforce for ${percent(first_share)} of agents`)}
        </p>
      ) : (
        <>
          <div className="row between">
            <h3 className="row">
              Rollout
              <Badge text={rollout.status} tone={rollout.status === "stopped" ? "block" : "live"} />
            </h3>
            {may && (
              <span className="row">
                {rollout.status === "waiting" && ask("remove", "Remove the plan")}
                {rollout.status === "running" && ask("stop", "Stop")}
                {runs && rollout.stage > 1 && ask("return", "Return to the stage before", "bad")}
                {runs && ask("advance", nextText(rollout), "primary")}
              </span>
            )}
          </div>
          <Shown rollout={rollout} />
        </>
      )}
      {asked !== null && (
        <Question membrane_id={membrane_id} rollout={rollout} step={asked} onClose={() => setAsked(null)} />
      )}
    </div>
  );
}

function nextText({ stages, stage, share, holds_share }: Rollout): string {
  if (holds_share < share) return "Hold again";
  const next = stages[stage];
  return next === undefined ? "Finish" : `Go on to ${percent(next.share)}`;
}

function Shown({ rollout }: { readonly rollout: Rollout }) {
  const { agents, complete, figures, guard, holds_share, requested_return, share, stage, stages } = rollout;
  const { holds, overridden, timed_out } = figures;
  const part = ({ count, of, low, high }: typeof overridden) =>
    `${count} of ${of} (${percent(low)} to ${percent(high)})`;
  const stops = (limit: string, towards_stop: number) => (
    <span className="muted">{`: stops above ${limit}. Evidence: ${percent(towards_stop)}`}</span>
  );
  return (
    <>
      <Breaches rollout={rollout} />
      {requested_return !== null && (
        <p>
          {`A return to stage ${requested_return.stage} waits for a second person: `}
          <Data text={requested_return.reason} />
        </p>
      )}
      <dl className="pairs">
        <dt>Enforced</dt>
        <dd>
          {`${percent(share)} of registered agents: ${agents.enforced} of ${agents.registered}. Stage ${stage} of ${stages.length}`}
          {complete && rollout.status === "running" ? ", complete" : ""}
        </dd>
        <dt>Return</dt>
        <dd>
          {rollout.returns_holds_itself
            ? "The guard returns holds to shadow when it finds too many. Blocks stay enforced."
            : "Only people go back."}
          {holds_share < share && ` Held now: ${percent(holds_share)} of registered agents.`}
        </dd>
        {rollout.status !== "waiting" && (
          <>
            <dt>Decisions</dt>
            <dd>{`${figures.decisions.toLocaleString("en")} in ${rounded(figures.days)} days`}</dd>
            <dt>Held a day</dt>
            <dd>
              {holds.high === null
                ? `${holds.count} held`
                : `${holds.count} held (${rounded(holds.low)} to ${rounded(holds.high)} a day)`}
              {stops(`${rounded(guard.holds_per_day_max)} a day`, holds.towards_stop)}
            </dd>
            <dt>Blocks overridden</dt>
            <dd>
              {part(overridden)}
              {stops(percent(guard.overridden_share_max), overridden.towards_stop)}
            </dd>
            <dt>Reviews timed out</dt>
            <dd>
              {part(timed_out)}
              {stops(percent(guard.timed_out_share_max), timed_out.towards_stop)}
            </dd>
          </>
        )}
      </dl>
    </>
  );
}

function Breaches({ rollout: { breaches, holds_share, share } }: { readonly rollout: Rollout }) {
  if (breaches.length === 0) return null;
  return (
    <div role="alert">
      <p className="bad">The guard stopped this rollout. It goes on when an admin advances it with a reason.</p>
      <ul>
        {breaches.map(({ limit, message }) => (
          <li key={limit}>{message}</li>
        ))}
        {holds_share < share && <li>The guard returned holds to shadow. Blocks stay enforced.</li>}
      </ul>
    </div>
  );
}
