import { useNow } from "../browser/clock.ts";

const units: readonly [string, number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
];

/** Returns a duration in its two largest units: `3 h 20 min`. */
export function spanText(seconds: number): string {
  const parts: string[] = [];
  let rest = Math.max(0, Math.round(seconds));
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest -= count * size;
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? "0 s" : parts.join(" ");
}

/** Returns a duration in its largest unit. Rounds past times down and remaining times to the nearest. */
export function roughText(seconds: number, whole: (count: number) => number = Math.floor): string {
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? ["s", 1];
  return `${whole(seconds / size)} ${unit}`;
}

/** Shared, because creating one takes 0.2 ms and a queue of 500 formats 1,000 times every five seconds. */
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

function exactText(at: string): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? at : exact.format(time);
}

const titleOf = (at: string) => `${exactText(at)} (${at})`;

export function Time({ at }: { readonly at: string }) {
  const seconds = (useNow() - Date.parse(at)) / 1000;
  const text =
    Math.abs(seconds) < 5
      ? "just now"
      : seconds > 0
        ? `${roughText(seconds)} ago`
        : `in ${roughText(-seconds, Math.round)}`;
  return (
    <time dateTime={at} title={titleOf(at)} className="nowrap">
      {text}
    </time>
  );
}

export function ExactTime({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={at} className="nowrap">
      {exactText(at)}
    </time>
  );
}

/** Time until a deadline; red in the last six minutes and after it. */
export function TimeLeft({ until }: { readonly until: string }) {
  const seconds = (Date.parse(until) - useNow()) / 1000;
  return (
    <time dateTime={until} title={titleOf(until)} className={seconds < 360 ? "late nowrap" : "nowrap"}>
      {seconds <= 0 ? "time is over" : `${spanText(seconds)} left`}
    </time>
  );
}
