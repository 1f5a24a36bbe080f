/** Causes that many reviews share, once each, with the number and the remedy. */
import type { AttentionItem } from "@countersign/contract";
import { useAttention } from "../../parts/attention.ts";
import { Data } from "../../parts/tables/data.tsx";
import { Remedies } from "../../remedies/remedies.tsx";
import { reviewsOf } from "../../remedies/shared-reviews.tsx";
import { noFilters, type QueueFilters } from "./queue.ts";

const shown_max = 5;

type Kind = "missing_fact" | "uncovered_tool" | "no_reviewers";
type Cause = AttentionItem & { readonly kind: Kind };

/** One review with a cause says it itself. A rule without reviewers matters before the first one. */
const isShared = (item: AttentionItem): item is Cause =>
  item.kind === "no_reviewers" ||
  ((item.kind === "missing_fact" || item.kind === "uncovered_tool") && (item.count ?? 0) > 1);

export function Causes({ onFilter }: { readonly onFilter: (change: QueueFilters) => void }) {
  const { data: items = [] } = useAttention();
  const causes = items.filter(isShared).slice(0, shown_max);
  if (causes.length === 0) return null;
  return (
    <section aria-label="Common causes">
      <ul className="plain causes">
        {causes.map((cause) => (
          <li key={`${cause.kind} ${cause.what}`}>
            <span className="grow">
              <CauseText cause={cause} />
            </span>
            {(cause.count ?? 0) > 0 && (
              <button
                type="button"
                className="button small quiet"
                onClick={() => onFilter({ ...noFilters, ...reviewsOf(cause) })}
              >
                Show them
              </button>
            )}
            <Remedies item={cause} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const texts = {
  missing_fact: ["waits for one fact", "wait for one fact"],
  uncovered_tool: ["waits because no rule covers the tool", "wait because no rule covers the tool"],
  no_reviewers: ["waits for a rule that nobody can decide", "wait for a rule that nobody can decide"],
} as const satisfies Record<Kind, readonly [string, string]>;

function CauseText({ cause: { kind, what, count, at_least } }: { readonly cause: Cause }) {
  const number = count ?? 0;
  const [one, many] = texts[kind];
  return (
    <>
      <strong>{`${at_least ? "At least " : ""}${number.toLocaleString("en")} ${number === 1 ? "review" : "reviews"}`}</strong>
      {` ${number === 1 ? one : many}: `}
      <span className="mono small">
        <Data text={what.replace(/^facts\./, "")} chars_max={120} more={false} />
      </span>
    </>
  );
}
