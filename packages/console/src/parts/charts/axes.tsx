/** Axes of the charts: their place, their lines and their texts. */
import { AxisBottom, AxisLeft } from "@visx/axis";
import { useParentSize } from "@visx/responsive";
import { scaleLinear } from "@visx/scale";

export const height = 190;
const bottom = 24;
const top = 8;
export const base = height - bottom;
/** A digit of the widest usual font, at the size of small text. */
const char_px = 8;
const gap_px = 6;

const compact = new Intl.NumberFormat("en", { notation: "compact" });

/** Measures the place of a chart, so that its letters keep their size at every width. */
export function useChartWidth() {
  const { parentRef, width } = useParentSize({
    initialSize: { width: 640 },
    ignoreDimensions: ["height", "top", "left"],
  });
  return { parentRef, width: Math.max(220, Math.round(width)) };
}

/** Returns the scale of counts from 0 to a round number, and the room that its longest text needs at the left. */
export function countScale(most: number) {
  const scale = scaleLinear({ domain: [0, Math.max(1, most)], range: [base, top], nice: 3 });
  const ticks = scale.ticks(3).filter(Number.isInteger);
  const left = Math.max(...ticks.map((tick) => compact.format(tick).length)) * char_px + gap_px;
  return { scale, ticks, left };
}

export type CountScale = ReturnType<typeof countScale>;

/** The counts at the left, each with a line across the chart. */
export function CountAxis({
  counts: { scale, ticks, left },
  width,
}: {
  readonly counts: CountScale;
  readonly width: number;
}) {
  return (
    <AxisLeft
      scale={scale}
      left={left}
      tickValues={ticks}
      tickLength={left - width}
      hideAxisLine
      tickComponent={({ y, formattedValue }) => (
        <text x={-gap_px} y={y + 4} textAnchor="end">
          {formattedValue}
        </text>
      )}
      tickFormat={(count) => compact.format(Number(count))}
    />
  );
}

interface BottomAxisProps {
  readonly scale: Parameters<typeof AxisBottom>[0]["scale"];
  readonly ticks: Parameters<typeof AxisBottom>[0]["tickValues"];
  readonly width: number;
  readonly textOf: (value: never) => string;
}

/** The texts below a chart. The texts at its ends do not reach out of it. */
export function BottomAxis({ scale, ticks, width, textOf }: BottomAxisProps) {
  return (
    <AxisBottom
      scale={scale}
      top={base}
      {...(ticks === undefined ? {} : { tickValues: ticks })}
      hideAxisLine
      hideTicks
      tickComponent={({ x, formattedValue = "" }) => {
        const half = (formattedValue.length * char_px) / 2;
        return (
          <text x={Math.max(half, Math.min(x, width - half))} y={bottom - 6} textAnchor="middle">
            {formattedValue}
          </text>
        );
      }}
      tickFormat={(value) => textOf(value as never)}
    />
  );
}
