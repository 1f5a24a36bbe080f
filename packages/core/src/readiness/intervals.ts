/** Intervals and bounds of counts, 95 % sure. */
import statistics from "jstat";

export interface Interval {
  readonly low: number;
  readonly high: number;
}

const { beta, gamma } = statistics.jStat;
/** Each side of an interval may be wrong with this probability. */
const side = 0.025;
const z = 1.959_963_984_540_054;

/** Returns the interval of a share (Wilson, 1927). Without any decision it is 0 to 1. */
export function shareInterval(count: number, of: number): Interval {
  if (of === 0) return { low: 0, high: 1 };
  const share = count / of;
  const middle = share + z ** 2 / (2 * of);
  const half = z * Math.sqrt((share * (1 - share)) / of + (z / (2 * of)) ** 2);
  const scale = 1 + z ** 2 / of;
  return {
    low: count === 0 ? 0 : Math.max(0, (middle - half) / scale),
    high: count === of ? 1 : Math.min(1, (middle + half) / scale),
  };
}

/** Returns the interval of the expected number of events, of which `count` came (Garwood, 1936: exact for Poisson). */
export function countInterval(count: number): Interval {
  return { low: count === 0 ? 0 : gamma.inv(side, count, 1), high: gamma.inv(1 - side, count + 1, 1) };
}

/**
 * Returns a lower and an upper bound of a share, each of them 95 % sure (Clopper and Pearson, 1934: exact). `of` is at
 * least 1.
 */
export function shareBounds(count: number, of: number): Interval {
  return {
    low: count === 0 ? 0 : beta.inv(2 * side, count, of - count + 1),
    high: count === of ? 1 : beta.inv(1 - 2 * side, count + 1, of - count),
  };
}
