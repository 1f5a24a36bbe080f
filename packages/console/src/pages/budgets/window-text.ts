import type { Counter } from "@countersign/contract";

const units = { d: "day", h: "hour", m: "minute", s: "second" } as const;
const calendar = { hour: "this hour", day: "today", week: "this week", month: "this month" } as const;

/** Writes a window for people: `24h` as "24 hours", a calendar month as "this month in Europe/Berlin". */
export function windowText(window: Counter["window"]): string {
  if (typeof window !== "string") return `${calendar[window.calendar]} in ${window.zone ?? "UTC"}`;
  const parts = [...window.matchAll(/(\d+)([dhms])/g)].map(([, count, unit]) => {
    const word = units[unit as keyof typeof units];
    return `${Number(count)} ${word}${Number(count) === 1 ? "" : "s"}`;
  });
  return parts.join(" ");
}
