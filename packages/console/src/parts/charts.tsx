/** Charts as plain SVG. A label gives the numbers to screen readers. */
import type { Overview, Verdict } from "@countersign/contract";
import { useEffect, useRef, useState } from "react";
import { VerdictBadge, verdictWord } from "./records/badge.tsx";

const verdicts: readonly Verdict[] = ["approve", "approve_modified", "escalate", "block"];
const height = 190;
const left = 40;
const bottom = 24;
const top = 8;

/** Returns the width of the chart on the page, so that letters keep their size. */
function useWidth() {
  const ref = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const svg = ref.current;
    if (svg === null) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(220, Math.round(svg.getBoundingClientRect().width))));
    observer.observe(svg);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}

/** Returns the next round number, as the end of an axis. */
export function niceMax(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

function Axis({ max, width }: { readonly max: number; readonly width: number }) {
  return [0, 0.5, 1].map((share) => {
    const y = top + (height - top - bottom) * (1 - share);
    const value = max * share;
    return (
      <g key={share}>
        <line x1={left} x2={width} y1={y} y2={y} />
        {Number.isInteger(value) && (
          <text x={left - 6} y={y + 4} textAnchor="end">
            {value.toLocaleString("en")}
          </text>
        )}
      </g>
    );
  });
}

type Counts = Record<Verdict, number>;

function slotsOf({ from, to, bucket_seconds, buckets }: Overview): Counts[] {
  const from_ms = Date.parse(from);
  const bucket_ms = bucket_seconds * 1000;
  const length = Math.max(1, Math.ceil((Date.parse(to) - from_ms) / bucket_ms));
  const slots = Array.from({ length }, () => ({ approve: 0, approve_modified: 0, escalate: 0, block: 0 }));
  for (const { at, verdict, count } of buckets) {
    const slot = slots[Math.floor((Date.parse(at) - from_ms) / bucket_ms)];
    if (slot !== undefined) slot[verdict] += count;
  }
  return slots;
}

export function DecisionsChart({ overview }: { readonly overview: Overview }) {
  const { ref, width } = useWidth();
  const slots = slotsOf(overview);
  const max = niceMax(Math.max(1, ...slots.map((slot) => verdicts.reduce((sum, verdict) => sum + slot[verdict], 0))));
  const step = (width - left) / slots.length;
  const bucket_ms = overview.bucket_seconds * 1000;
  const long = slots.length * bucket_ms > 2 * 86_400_000;
  const label = (slot: number) => {
    const at = new Date(Date.parse(overview.from) + slot * bucket_ms);
    return long
      ? at.toLocaleDateString(undefined, { month: "short", day: "numeric" })
      : at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  };
  const totals = verdicts.map((verdict) => [verdict, slots.reduce((sum, slot) => sum + slot[verdict], 0)] as const);
  return (
    <figure className="stack tight">
      <svg
        ref={ref}
        className="chart"
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Decisions over time: ${totals.map(([verdict, count]) => `${count} ${verdictWord(verdict)}`).join(", ")}`}
      >
        <Axis max={max} width={width} />
        {slots.map((slot, index) => (
          <Stack
            // biome-ignore lint/suspicious/noArrayIndexKey: the place of an interval in time
            key={index}
            counts={slot}
            x={left + index * step}
            step={step}
            scale={(height - top - bottom) / max}
            label={label(index)}
          />
        ))}
        {[0, Math.floor(slots.length / 2), slots.length - 1].map((slot, index) => (
          <text
            key={slot}
            x={index === 0 ? left : index === 1 ? left + (slot + 0.5) * step : width}
            y={height - 6}
            textAnchor={index === 0 ? "start" : index === 1 ? "middle" : "end"}
          >
            {label(slot)}
          </text>
        ))}
      </svg>
      <figcaption className="legend">
        {totals.map(([verdict, count]) => (
          <span key={verdict} className="row">
            <VerdictBadge verdict={verdict} />
            <span className="small">{count.toLocaleString("en")}</span>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function Stack({
  counts,
  x,
  step,
  scale,
  label,
}: {
  readonly counts: Counts;
  readonly x: number;
  readonly step: number;
  /** The height of one decision. */
  readonly scale: number;
  readonly label: string;
}) {
  let y = height - bottom;
  return verdicts.map((verdict) => {
    const size = counts[verdict] * scale;
    y -= size;
    if (size === 0) return null;
    return (
      <rect
        key={verdict}
        className={`bar-${verdict}`}
        x={x + Math.min(1.5, step * 0.1)}
        y={y}
        width={Math.max(1, step - Math.min(3, step * 0.2))}
        height={size}
      >
        <title>{`${label}: ${counts[verdict]} ${verdictWord(verdict)}`}</title>
      </rect>
    );
  });
}

export function RiskChart({ risk }: { readonly risk: readonly number[] }) {
  const { ref, width } = useWidth();
  const max = niceMax(Math.max(1, ...risk));
  const step = (width - left) / risk.length;
  const scale = (height - top - bottom) / max;
  return (
    <svg
      ref={ref}
      className="chart"
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`Decisions by risk: ${risk.map((count, index) => `${count} from ${index / 10}`).join(", ")}`}
    >
      <Axis max={max} width={width} />
      {risk.map((count, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: ten steps, always the same
        <g key={index}>
          <rect
            className={index < 3 ? "bar-approve" : index < 7 ? "bar-escalate" : "bar-block"}
            x={left + index * step + 3}
            y={height - bottom - count * scale}
            width={step - 6}
            height={count * scale}
          >
            <title>{`risk ${index / 10} to ${(index + 1) / 10}: ${count}`}</title>
          </rect>
          <text x={left + (index + 0.5) * step} y={height - 6} textAnchor="middle">
            {(index / 10).toFixed(1)}
          </text>
        </g>
      ))}
    </svg>
  );
}

export function HorizontalBars({
  rows,
}: {
  readonly rows: readonly { readonly key: string; readonly label: React.ReactNode; readonly count: number }[];
}) {
  const max = Math.max(1, ...rows.map(({ count }) => count));
  return (
    <ul className="plain hbars">
      {rows.map(({ key, label, count }) => (
        <li key={key} className="hbar">
          <span className="row between small">
            <span className="grow">{label}</span>
            <span>{count.toLocaleString("en")}</span>
          </span>
          <span className="meter" aria-hidden="true">
            <i style={{ width: `${(count / max) * 100}%` }} />
          </span>
        </li>
      ))}
    </ul>
  );
}
