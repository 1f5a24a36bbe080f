/**
 * Intervals that hold at all times at once, so a reader may look after each decision and stop when it likes. Both are mixtures
 * of likelihoods (Robbins, 1970; Howard, Ramdas, McAuliffe and Sekhon, 2021): the true value leaves the interval at any time with
 * a probability of at most `alpha`.
 */
import statistics from "jstat";
import type { Interval } from "../readiness/intervals.ts";

const { betaln, gammaln } = statistics.jStat;
/** The weight of small values in the mixture: Jeffreys' prior. */
const shape = 0.5;
const steps = 40;

/**
 * Evidence mixes two alternatives to the limit: this multiple of it, which finds three times the limit soon, and Jeffreys' prior, which
 * finds any excess in the end. Decision 0054 has the measurements.
 */
const multiple = 2.5;
const multiple_weight = 0.8;

/** Returns the interval of a share, of which `count` of `of` were seen. */
export function shareAtAnyTime(count: number, of: number, alpha: number): Interval {
  if (of === 0) return { low: 0, high: 1 };
  const rest = of - count;
  const mixed = mixedShare(count, rest);
  const isOut = (share: number): boolean => mixed - shareLikelihood(count, rest, share) >= Math.log(1 / alpha);
  const share = count / of;
  return {
    low: count === 0 ? 0 : border(0, share, isOut),
    high: rest === 0 ? 1 : border(1, share, isOut),
  };
}

/** Returns the interval of events a day, of which `count` were seen in `days`. `usual`: the rate at which it is narrowest. */
export function rateAtAnyTime(count: number, days: number, usual: number, alpha: number): Interval {
  const mixed = mixedRate(count, days, usual);
  const isOut = (rate: number): boolean => mixed - rateLikelihood(count, days, rate) >= Math.log(1 / alpha);
  const rate = days === 0 ? 0 : count / days;
  if (days === 0) return { low: 0, high: Number.POSITIVE_INFINITY };
  let far = 2 * rate + usual;
  while (!isOut(far)) far *= 2;
  return { low: count === 0 ? 0 : border(0, rate, isOut), high: border(far, rate, isOut) };
}

/**
 * Returns the evidence that a share is above `limit`, as the natural logarithm of an e-value: at a share of at most `limit` it
 * reaches log(1 / alpha) at any time with a probability of at most `alpha`.
 */
export function evidenceAgainstShare(count: number, of: number, limit: number): number {
  if (count <= limit * of) return Number.NEGATIVE_INFINITY;
  if (limit === 0) return Number.POSITIVE_INFINITY;
  const rest = of - count;
  const higher = Math.min(multiple * limit, (1 + limit) / 2);
  return mix(shareLikelihood(count, rest, higher), mixedShare(count, rest)) - shareLikelihood(count, rest, limit);
}

/** Returns the evidence that more than `limit` events a day come. See `evidenceAgainstShare`. `limit` is above 0. */
export function evidenceAgainstRate(count: number, days: number, limit: number): number {
  if (count <= limit * days) return Number.NEGATIVE_INFINITY;
  return (
    mix(rateLikelihood(count, days, multiple * limit), mixedRate(count, days, limit)) -
    rateLikelihood(count, days, limit)
  );
}

/** The logarithm of the weighted mean of two likelihoods. */
function mix(higher: number, mixed: number): number {
  const [one, two] = [higher + Math.log(multiple_weight), mixed + Math.log(1 - multiple_weight)];
  const most = Math.max(one, two);
  return most + Math.log(Math.exp(one - most) + Math.exp(two - most));
}

function shareLikelihood(count: number, rest: number, share: number): number {
  return part(count, share) + part(rest, 1 - share);
}

function rateLikelihood(count: number, days: number, rate: number): number {
  return part(count, rate) - rate * days;
}

function mixedShare(count: number, rest: number): number {
  return betaln(count + shape, rest + shape) - betaln(shape, shape);
}

function mixedRate(count: number, days: number, usual: number): number {
  const scale = shape / usual;
  return shape * Math.log(scale) - gammaln(shape) + gammaln(shape + count) - (shape + count) * Math.log(scale + days);
}

function part(count: number, share: number): number {
  return count === 0 ? 0 : count * Math.log(share);
}

function border(outside: number, inside: number, isOut: (value: number) => boolean): number {
  let [out, within] = [outside, inside];
  for (let step = 0; step < steps; step += 1) {
    const middle = (out + within) / 2;
    if (isOut(middle)) out = middle;
    else within = middle;
  }
  return within;
}
