import type { Overview, Reviewer } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { Reviewers } from "../../parts/records/who.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { spanText } from "../../parts/time.tsx";

export function ReviewPeople({ people: { asked, answers, membranes } }: Pick<Overview, "people">) {
  return (
    <section className="card stack tight" aria-label="People">
      <h2>People</h2>
      {answers === null ? (
        <p className="muted">People decided no review in this time.</p>
      ) : (
        <ListTable
          heads={["Membrane", "Decided", "Median", "p90"]}
          numbers={3}
          caption="Time from asking to the ruling"
        >
          {membranes.map((each) => (
            <tr key={each.membrane_id}>
              <td>
                <Data text={each.name === "" ? each.membrane_id : each.name} chars_max={60} />
              </td>
              <Times times={each} />
            </tr>
          ))}
          {membranes.length > 1 && (
            <tr>
              <th scope="row">All</th>
              <Times times={answers} />
            </tr>
          )}
        </ListTable>
      )}
      {asked.length > 0 && (
        <>
          <h3>Asked now</h3>
          <ul className="plain stack tight">
            {asked.map(({ reviewer, reviews }) => (
              <li key={reviewer ?? ""} className="row between">
                <span>
                  <Reviewers reviewers={reviewer === null ? [] : [reviewerOf(reviewer)]} />
                </span>
                <Link to="/review" search={(reviewer === null ? {} : { reviewer }) as never}>
                  {reviews.toLocaleString("en")}
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function reviewerOf(text: string): Reviewer {
  const at = text.indexOf(":");
  return { type: text.slice(0, at), id: text.slice(at + 1) } as Reviewer;
}

function Times({
  times: { reviews, median_seconds, p90_seconds, at_least = false },
}: {
  readonly times: { readonly reviews: number; readonly median_seconds: number; readonly p90_seconds: number } & {
    readonly at_least?: boolean;
  };
}) {
  return (
    <>
      <td className="num">{`${at_least ? "at least " : ""}${reviews.toLocaleString("en")}`}</td>
      <td className="num">{spanText(median_seconds)}</td>
      <td className="num">{spanText(p90_seconds)}</td>
    </>
  );
}
