import { type PointerEvent, useState } from "react";
import { type Dragged, type Intervals, zoomedTo } from "./zoom.ts";

/** Lets a reader drag over a chart to choose a period. `left`: where the first interval begins, in pixels. */
export function useBrush(intervals: Intervals, left: number, onZoom: (from: string, to: string) => void) {
  const [dragged, setDragged] = useState<Dragged | null>(null);
  const xOf = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) =>
    clientX - currentTarget.getBoundingClientRect().left - left;
  return {
    dragged,
    handlers: {
      onPointerDown: (event: PointerEvent<SVGSVGElement>) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragged({ from_px: xOf(event), to_px: xOf(event) });
      },
      onPointerMove: (event: PointerEvent<SVGSVGElement>) => {
        if (dragged !== null) setDragged({ ...dragged, to_px: xOf(event) });
      },
      onPointerUp: (event: PointerEvent<SVGSVGElement>) => {
        const zoomed = dragged === null ? null : zoomedTo({ ...dragged, to_px: xOf(event) }, intervals);
        setDragged(null);
        if (zoomed !== null) onZoom(zoomed.from, zoomed.to);
      },
      onPointerCancel: () => setDragged(null),
    },
  };
}

export function BrushedPart({
  dragged: { from_px, to_px },
  left,
  height,
}: {
  readonly dragged: Dragged;
  readonly left: number;
  readonly height: number;
}) {
  return (
    <rect
      className="brushed"
      x={left + Math.min(from_px, to_px)}
      y={0}
      width={Math.abs(to_px - from_px)}
      height={height}
    />
  );
}
