import type { Usage } from "@countersign/contract";

const number = (count: number) => count.toLocaleString("en");

/** The name of a UTC month, such as `Nov 2026`. */
function nameOf(month: string): string {
  return new Date(`${month}-15T00:00:00Z`).toLocaleDateString("en", {
    month: "short",
    year: "numeric",
    timeZone: "UTC",
  });
}

/** One bar a month against what the plan includes, newest first. The bar's end is the plan or the largest month. */
export function MonthsChart({ usage: { months, included_actions, hard_limit } }: { readonly usage: Usage }) {
  const plan = included_actions ?? hard_limit;
  const most = Math.max(1, plan ?? 0, ...months.map(({ used_actions }) => used_actions));
  return (
    <ul className="plain hbars">
      {months.toReversed().map(({ month, used_actions }, at) => (
        <li key={month} className="hbar">
          <span className="row between small">
            <span className="grow">{`${nameOf(month)}${at === 0 ? ", so far" : ""}`}</span>
            <span>
              {plan === null
                ? number(used_actions)
                : `${number(used_actions)} · ${Math.round((used_actions / Math.max(1, plan)) * 100)} % of the plan`}
            </span>
          </span>
          <span className={plan !== null && used_actions > plan ? "meter hot" : "meter"} aria-hidden="true">
            <i style={{ width: `${(used_actions / most) * 100}%` }} />
            {plan !== null && plan < most && <b style={{ left: `${(plan / most) * 100}%` }} />}
          </span>
        </li>
      ))}
    </ul>
  );
}
