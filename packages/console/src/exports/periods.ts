export type Period = "last_month" | "this_month" | "last_7_days" | "page";

interface Times {
  readonly from?: string;
  readonly to?: string;
}

const ms_per_week = 7 * 86_400_000;

/** Returns the times of a period. Months are in UTC, as in usage. `page`: the times of the page's filters. */
export function periodOf(period: Period, filters: Times, now_ms: number): Times {
  const month = (offset: number) => {
    const now = new Date(now_ms);
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)).toISOString();
  };
  switch (period) {
    case "last_month":
      return { from: month(-1), to: month(0) };
    case "this_month":
      return { from: month(0) };
    case "last_7_days":
      return { from: new Date(now_ms - ms_per_week).toISOString() };
    case "page": {
      const { from, to } = filters;
      return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
    }
  }
}
