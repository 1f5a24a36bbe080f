import type { Overview, Verdict } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useNow } from "../../browser/clock.ts";
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
        about={complete ? "all counted" : <CountedSoFar overview={overview} />}
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

const shareText = (share: number) =>
  `${(share * 100).toLocaleString("en", { maximumFractionDigits: share < 0.01 ? 2 : 1 })} %`;

function CountLink({
  name,
  count,
  before,
  search,
  about,
}: {
  readonly name: string;
  readonly count: number;
  /** In the period before; null: not compared. */
  readonly before: number | null;
  readonly search: never;
  readonly about: ReactNode;
}) {
  return (
    <Link to="/decisions" search={search} className="card figure">
      <span className="muted small">{name}</span>
      <span className="row">
        <b>{count.toLocaleString("en")}</b>
        {before !== null && <span className="small muted">{changeText(count, before)}</span>}
      </span>
      <span className="small muted">{about}</span>
    </Link>
  );
}

function Waiting({ queue: { pending, due_soon, oldest_at } }: Pick<Overview, "queue">) {
  const now_ms = useNow();
  return (
    <Link to="/review" className="card figure">
      <span className="muted small">Waiting now</span>
      <b>{pending.toLocaleString("en")}</b>
      <span className="small muted">
        {oldest_at === null ? "nothing waits" : `oldest ${spanText((now_ms - Date.parse(oldest_at)) / 1_000)}`}
        {due_soon > 0 && <span className="late">{`, ${due_soon.toLocaleString("en")} due soon`}</span>}
      </span>
    </Link>
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
