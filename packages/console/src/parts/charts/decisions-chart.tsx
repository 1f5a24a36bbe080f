import type { Overview, Verdict } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { scaleBand, scaleOrdinal, scaleTime } from "@visx/scale";
import { BarStack } from "@visx/shape";
import { VerdictBadge, verdictWord } from "../records/badge.tsx";
import { BottomAxis, base, CountAxis, type CountScale, countScale, height, useChartWidth } from "./axes.tsx";
import { BrushedPart, useBrush } from "./brush.tsx";

const verdicts: readonly Verdict[] = ["approve", "approve_modified", "escalate", "block"];
const classes = scaleOrdinal({ domain: [...verdicts], range: verdicts.map((verdict) => `bar-${verdict}`) });
const day_ms = 86_400_000;
const tick_px = 90;

interface Slot extends Record<Verdict, number> {
  readonly start_ms: number;
}

function slotsOf({ from, to, bucket_seconds, buckets }: Overview): Slot[] {
  const from_ms = Date.parse(from);
  const bucket_ms = bucket_seconds * 1000;
  const length = Math.max(1, Math.ceil((Date.parse(to) - from_ms) / bucket_ms));
  const slots = Array.from({ length }, (_, index) => ({
    start_ms: from_ms + index * bucket_ms,
    approve: 0,
    approve_modified: 0,
    escalate: 0,
    block: 0,
  }));
  for (const { at, verdict, count } of buckets) {
    const slot = slots[Math.floor((Date.parse(at) - from_ms) / bucket_ms)];
    if (slot !== undefined) slot[verdict] += count;
  }
  return slots;
}

/** Returns the time of day in the reader's zone, and the day at midnight or where each interval is long. */
function timeText(at: Date, long: boolean): string {
  return long || (at.getHours() === 0 && at.getMinutes() === 0)
    ? at.toLocaleDateString(undefined, { month: "short", day: "numeric" })
    : at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}

export function DecisionsChart({
  overview,
  onZoom,
  rowsOf,
}: {
  readonly overview: Overview;
  readonly onZoom: (from: string, to: string) => void;
  readonly rowsOf: (verdict: Verdict) => never;
}) {
  const { parentRef, width } = useChartWidth();
  const slots = slotsOf(overview);
  const bucket_ms = overview.bucket_seconds * 1000;
  const start_ms = slots[0]?.start_ms ?? 0;
  const end_ms = start_ms + slots.length * bucket_ms;
  const long = end_ms - start_ms > 4 * day_ms;
  const counts = countScale(Math.max(...slots.map((slot) => verdicts.reduce((sum, each) => sum + slot[each], 0))));
  const range: [number, number] = [counts.left, width];
  const x = scaleBand({ domain: slots.map((slot) => slot.start_ms), range, paddingInner: 0.2 });
  const time = scaleTime({ domain: [new Date(start_ms), new Date(end_ms)], range });
  const intervals = { start_ms, bucket_ms, count: slots.length, width_px: width - counts.left };
  const { dragged, handlers } = useBrush(intervals, counts.left, onZoom);
  const totals = verdicts.map((verdict) => [verdict, slots.reduce((sum, slot) => sum + slot[verdict], 0)] as const);
  const barText = (slot: Slot, verdict: Verdict) =>
    `${timeText(new Date(slot.start_ms), bucket_ms >= day_ms)}: ${slot[verdict].toLocaleString("en")} ${verdictWord(verdict)}`;
  return (
    <figure className="stack tight">
      <div ref={parentRef}>
        <svg
          className="chart brushes"
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          {...handlers}
          aria-label={`Decisions over time: ${totals.map(([verdict, count]) => `${count} ${verdictWord(verdict)}`).join(", ")}`}
        >
          <CountAxis counts={counts} width={width} />
          <Bars slots={slots} x={x} counts={counts} textOf={barText} />
          {dragged !== null && <BrushedPart dragged={dragged} left={counts.left} height={base} />}
          <BottomAxis
            scale={time}
            ticks={time.ticks(Math.max(2, Math.floor((width - counts.left) / tick_px)))}
            width={width}
            textOf={(at: Date) => timeText(at, long)}
          />
        </svg>
      </div>
      <figcaption className="legend">
        {totals.map(([verdict, count]) => (
          <span key={verdict} className="row">
            <VerdictBadge verdict={verdict} />
            <Link className="small" to="/decisions" search={rowsOf(verdict)}>
              {count.toLocaleString("en")}
            </Link>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function Bars({
  slots,
  x,
  counts,
  textOf,
}: {
  readonly slots: readonly Slot[];
  readonly x: ReturnType<typeof scaleBand<number>>;
  readonly counts: CountScale;
  readonly textOf: (slot: Slot, verdict: Verdict) => string;
}) {
  return (
    <BarStack
      data={[...slots]}
      keys={[...verdicts]}
      x={(slot) => slot.start_ms}
      xScale={x}
      yScale={counts.scale}
      color={classes}
    >
      {(stacks) =>
        stacks.flatMap(({ bars }) =>
          bars
            .filter((bar) => bar.height > 0)
            .map((bar) => (
              <rect
                key={`${bar.key} ${bar.index}`}
                className={bar.color}
                x={bar.x}
                y={bar.y}
                width={Math.max(1, bar.width)}
                height={bar.height}
              >
                <title>{textOf(bar.bar.data, bar.key)}</title>
              </rect>
            )),
        )
      }
    </BarStack>
  );
}
