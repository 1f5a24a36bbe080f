import { scaleBand } from "@visx/scale";
import { Bar } from "@visx/shape";
import { BottomAxis, base, CountAxis, countScale, height, useChartWidth } from "./axes.tsx";

const fromText = (step: number) => (step / 10).toFixed(1);

export function RiskChart({ risk }: { readonly risk: readonly number[] }) {
  const { parentRef, width } = useChartWidth();
  const counts = countScale(Math.max(...risk));
  const x = scaleBand({ domain: [...risk.keys()], range: [counts.left, width], paddingInner: 0.2 });
  return (
    <div ref={parentRef}>
      <svg
        className="chart"
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Decisions by risk: ${risk.map((count, step) => `${count} from ${fromText(step)}`).join(", ")}`}
      >
        <CountAxis counts={counts} width={width} />
        {risk.map((count, step) => (
          <Bar
            key={fromText(step)}
            className="bar"
            x={x(step) ?? 0}
            y={counts.scale(count)}
            width={x.bandwidth()}
            height={base - counts.scale(count)}
          >
            <title>{`risk ${fromText(step)} to ${fromText(step + 1)}: ${count.toLocaleString("en")}`}</title>
          </Bar>
        ))}
        <BottomAxis scale={x} ticks={undefined} width={width} textOf={fromText} />
      </svg>
    </div>
  );
}
