import type { Escalation } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { VerdictBadge } from "../../parts/records/badge.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Time } from "../../parts/time.tsx";
import { similar_among, useSimilar } from "../escalation-data.ts";

export function SimilarCases({ escalation }: { readonly escalation: Escalation }) {
  return (
    <section className="stack tight">
      <h2>Similar cases</h2>
      <Loaded query={useSimilar(escalation)} what="similar cases">
        {(similar) => <CaseList {...similar} />}
      </Loaded>
    </section>
  );
}

function CaseList({ cases, all }: { readonly cases: readonly Escalation[]; readonly all: boolean }) {
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
      <p className="small muted">
        {`${approved} of ${cases.length} like this were approved${all ? "" : `, among ${among}`}.`}
      </p>
      <ul className="plain stack tight">
        {cases.slice(0, 5).map((each) => (
          <li key={each.escalation_id} className="row small">
            {each.resolution !== null && <VerdictBadge verdict={each.resolution.outcome} />}
            <Link to="/escalations/$escalation_id" params={{ escalation_id: each.escalation_id }}>
              <Data text={each.action.target?.identifier ?? each.action.verb} chars_max={60} />
            </Link>
            <Time at={each.closed_at ?? each.created_at} />
            {each.resolution?.comment != null && (
              <span className="muted">
                <Data text={each.resolution.comment} chars_max={120} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
