import type { Backtest, Verdict } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { ActionName } from "../../parts/records/action-name.tsx";
import { VerdictBadge, verdictWord } from "../../parts/records/badge.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Wide } from "../../parts/tables/scrolls.tsx";
import { Time } from "../../parts/time.tsx";

const severity: Record<Verdict, number> = { approve: 0, approve_modified: 1, escalate: 2, block: 3 };
const verdicts = Object.keys(severity) as Verdict[];

export function Matrix({ result }: { readonly result: Backtest }) {
  const count = (from: Verdict, to: Verdict) =>
    result.transitions.reduce((sum, each) => (each.from === from && each.to === to ? sum + each.count : sum), 0);
  return (
    <Wide label="Number of verdicts by old and new verdict">
      <table className="list matrix">
        <caption className="sr">Number of verdicts by old and new verdict</caption>
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

export function Flips({ flips, total }: { readonly flips: Backtest["flips"]; readonly total: number }) {
  if (flips.length === 0) return <p className="muted">No verdict would change.</p>;
  return (
    <>
      {total > 100 && <p className="small muted">{`The newest 100 of ${total.toLocaleString("en")}.`}</p>}
      <ListTable heads={["When", "Agent", "Action", "Recorded", "Candidate", "Rules"]}>
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
      </ListTable>
    </>
  );
}
