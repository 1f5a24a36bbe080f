import type { Escalation } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { moneyText } from "../../parts/money.ts";
import { VerdictBadge } from "../../parts/records/badge.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Time } from "../../parts/time.tsx";
import { similar_among, useSimilar } from "../escalation-data.ts";
import { comparedWith } from "./compared-with.ts";

/** How this case differs from earlier ones of the same agent and tool, and how those ended. */
export function SimilarCases({ escalation }: { readonly escalation: Escalation }) {
  return (
    <section className="stack tight">
      <h2>Similar cases</h2>
      <Loaded query={useSimilar(escalation)} what="similar cases">
        {(similar) => <CaseList escalation={escalation} {...similar} />}
      </Loaded>
    </section>
  );
}

function CaseList({
  escalation,
  cases,
  all,
}: {
  readonly escalation: Escalation;
  readonly cases: readonly Escalation[];
  readonly all: boolean;
}) {
  const among = `the last ${similar_among} of this agent that were decided`;
  if (cases.length === 0)
    return (
      <p className="small muted">
        {all ? "No other of this agent with this tool has been decided so far." : `None with this tool among ${among}.`}
      </p>
    );
  const approved = cases.filter(({ resolution }) => resolution !== null && resolution.outcome !== "block").length;
  return (
    <>
      <Differences escalation={escalation} cases={cases} />
      <p>{`${approved} of ${cases.length} like this were approved${all ? "" : `, among ${among}`}.`}</p>
      <details>
        <summary className="small">{cases.length > 5 ? "The last five of them" : "These cases"}</summary>
        <ul className="plain stack tight">
          {cases.slice(0, 5).map((each) => (
            <PastCase key={each.escalation_id} past={each} />
          ))}
        </ul>
      </details>
    </>
  );
}

function Differences({
  escalation,
  cases,
}: {
  readonly escalation: Escalation;
  readonly cases: readonly Escalation[];
}) {
  const { amount, target } = comparedWith(escalation, cases);
  return (
    <>
      {amount !== null && (
        <p>
          <strong>{moneyText(amount.usd)}</strong>
          {amount.times === null ? " is about " : ` is ${amount.times} × `}
          {`the median of ${amount.count} earlier ones, ${moneyText(amount.median)}.`}
        </p>
      )}
      {target !== null && (
        <p>
          {target.before === 0 ? (
            <strong>None of them had this target.</strong>
          ) : (
            `${target.before} of them had this target.`
          )}
        </p>
      )}
    </>
  );
}

function PastCase({ past }: { readonly past: Escalation }) {
  const { escalation_id, resolution, action, amount_usd, closed_at, created_at } = past;
  return (
    <li className="row small">
      {resolution !== null && <VerdictBadge verdict={resolution.outcome} />}
      <Link to="/escalations/$escalation_id" params={{ escalation_id }}>
        <Data text={action.target?.identifier ?? action.verb} chars_max={60} />
      </Link>
      {amount_usd !== undefined && <span>{moneyText(amount_usd)}</span>}
      <Time at={closed_at ?? created_at} />
      {resolution?.comment != null && (
        <span className="muted">
          <Data text={resolution.comment} chars_max={120} />
        </span>
      )}
    </li>
  );
}
