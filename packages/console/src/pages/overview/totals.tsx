import type { Overview, Verdict } from "@countersign/contract";
import type { ReactNode } from "react";
import { useNow } from "../../browser/clock.ts";
import { FigureLink, shareText } from "../../parts/figure.tsx";
import { spanText, Time } from "../../parts/time.tsx";
import { changeText, type OverviewFilters, rowsBehind } from "./rows-behind.ts";

/** The first figures of the page. Each leads to the rows that it counts. */
export function Totals({ overview, filters }: { readonly overview: Overview; readonly filters: OverviewFilters }) {
  const { before, complete, decisions, contradictions } = overview;
  const comparable = complete && before.complete;
  const total = (verdict: Verdict) =>
    overview.buckets.reduce((sum, each) => (each.verdict === verdict ? sum + each.count : sum), 0);
  const ofVerdict = (verdict: Verdict) => ({
    count: total(verdict),
    before: comparable ? before.verdicts[verdict] : null,
    search: rowsBehind(overview, filters, { verdict }),
    about: decisions === 0 ? "no decisions" : shareText(total(verdict) / decisions),
  });
  return (
    <div className="figures">
      <CountLink
        name="Decisions"
        count={decisions}
        before={comparable ? before.decisions : null}
        search={rowsBehind(overview, filters)}
        about={
          complete ? (
            filters.mode ? (
              `only ${filters.mode}`
            ) : (
              "live, shadow and test"
            )
          ) : (
            <CountedSoFar overview={overview} />
          )
        }
      />
      <CountLink name="Held for people" {...ofVerdict("escalate")} />
      <CountLink name="Blocked" {...ofVerdict("block")} />
      <Waiting queue={overview.queue} />
      {contradictions > 0 && (
        <CountLink
          name="Executed anyway"
          count={contradictions}
          before={null}
          search={rowsBehind(overview, filters, { outcome: "contradicted" })}
          about="although not allowed"
        />
      )}
    </div>
  );
}

function CountLink({
  count,
  before,
  ...figure
}: {
  readonly name: string;
  readonly count: number;
  /** In the period before; null: not compared. */
  readonly before: number | null;
  readonly search: never;
  readonly about: ReactNode;
}) {
  return (
    <FigureLink
      to="/decisions"
      value={count.toLocaleString("en")}
      change={before === null ? "" : changeText(count, before)}
      {...figure}
    />
  );
}

function Waiting({ queue: { pending, due_soon, oldest_at } }: Pick<Overview, "queue">) {
  const now_ms = useNow();
  return (
    <FigureLink
      to="/review"
      search={{} as never}
      name="Waiting now"
      value={pending.toLocaleString("en")}
      about={
        <>
          {oldest_at === null ? "nothing waits" : `oldest ${spanText((now_ms - Date.parse(oldest_at)) / 1_000)}`}
          {due_soon > 0 && <span className="late">{`, ${due_soon.toLocaleString("en")} due soon`}</span>}
        </>
      }
    />
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
