/** The charts, which load after the page, and small bars of plain elements. */
import type { Overview, Verdict } from "@countersign/contract";
import { lazy, Suspense } from "react";

const LazyDecisions = lazy(async () => ({ default: (await import("./charts/decisions-chart.tsx")).DecisionsChart }));
const LazyRisk = lazy(async () => ({ default: (await import("./charts/risk-chart.tsx")).RiskChart }));

/** `onZoom`: the reader dragged over these times. `rowsOf`: the address of the decisions with this verdict. */
export function DecisionsChart(props: {
  readonly overview: Overview;
  readonly onZoom: (from: string, to: string) => void;
  readonly rowsOf: (verdict: Verdict) => never;
}) {
  return (
    <Suspense fallback={<div className="chart-place" />}>
      <LazyDecisions {...props} />
    </Suspense>
  );
}

export function RiskChart({ risk }: { readonly risk: readonly number[] }) {
  return (
    <Suspense fallback={<div className="chart-place" />}>
      <LazyRisk risk={risk} />
    </Suspense>
  );
}

export function HorizontalBars({
  rows,
}: {
  readonly rows: readonly {
    readonly key: string;
    readonly label: React.ReactNode;
    readonly count: number;
    /** Compared with an earlier time. */
    readonly change?: string;
  }[];
}) {
  const max = Math.max(1, ...rows.map(({ count }) => count));
  return (
    <ul className="plain hbars">
      {rows.map(({ key, label, count, change = "" }) => (
        <li key={key} className="hbar">
          <span className="row between small">
            <span className="grow">{label}</span>
            <span className="row">
              {change !== "" && <span className="muted">{change}</span>}
              {count.toLocaleString("en")}
            </span>
          </span>
          <span className="meter" aria-hidden="true">
            <i style={{ width: `${(count / max) * 100}%` }} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** One small bar for each value. The table beside it has the numbers. */
export function SparkLine({ values }: { readonly values: readonly number[] }) {
  const max = Math.max(1, ...values);
  const [step, tall] = [8, 22];
  return (
    <svg className="spark" width={values.length * step} height={tall} role="img" aria-label={values.join(", ")}>
      {values.map((value, index) => {
        const size = value === 0 ? 1 : Math.max(2, (value / max) * tall);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the place of a day in time
          <rect key={index} x={index * step} y={tall - size} width={step - 2} height={size} />
        );
      })}
    </svg>
  );
}
