/** The part of a chart that a reader drags over, in pixels from the left end of its first interval. */
export interface Dragged {
  readonly from_px: number;
  readonly to_px: number;
}

export interface Intervals {
  readonly start_ms: number;
  readonly bucket_ms: number;
  readonly count: number;
  /** Width of all intervals. */
  readonly width_px: number;
}

/** Shorter movements are clicks. */
const drag_px_min = 6;

/** Returns the whole intervals that the drag touches, as times. Null: a click, or all of them. */
export function zoomedTo(
  { from_px, to_px }: Dragged,
  { start_ms, bucket_ms, count, width_px }: Intervals,
): { readonly from: string; readonly to: string } | null {
  if (Math.abs(to_px - from_px) < drag_px_min) return null;
  const at = (px: number) => Math.max(0, Math.min(count, (px / width_px) * count));
  const first = Math.min(count - 1, Math.floor(at(Math.min(from_px, to_px))));
  const end = Math.max(first + 1, Math.ceil(at(Math.max(from_px, to_px))));
  if (first === 0 && end === count) return null;
  const time = (slot: number) => new Date(start_ms + slot * bucket_ms).toISOString();
  return { from: time(first), to: time(end) };
}
