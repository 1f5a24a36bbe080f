import { type Escalation, escalationOrders } from "@countersign/contract";
import { useMemo, useState } from "react";
import { useClient } from "../../api/session.tsx";
import { nowMs } from "../../browser/clock.ts";
import { usePaged } from "../../parts/tables/paged.tsx";
import { groupsOf, queueKey } from "../../review/escalation-data.ts";
import { type Filters, useFilters } from "../../shell/filters.ts";

const watch_ms = 3_000;
const page_rows = 100;

const names = [
  "status",
  "agent_id",
  "rule",
  "tool",
  "amount_usd_min",
  "amount_usd_max",
  "age",
  "missing_fact",
  "uncovered",
  "snoozed",
  "text",
  "mine",
  "reviewer",
  "mode",
  "order",
  "selected",
  "case",
] as const;

export type QueueFilters = Filters<(typeof names)[number]>;

/** Shows all that waits. */
export const noFilters = {
  ...{ status: "", agent_id: "", rule: "", tool: "", amount_usd_min: "", amount_usd_max: "", age: "" },
  ...{ missing_fact: "", uncovered: "", snoozed: "", text: "", reviewer: "", mode: "" },
} as const satisfies QueueFilters;

export const useQueueFilters = () => useFilters(names);

/** The address omits the status for open escalations. */
export const statusOf = ({ status }: QueueFilters): string => status ?? "pending";

/** Ages in the address, in minutes. */
const ages = { "15m": 15, "1h": 60, "4h": 240, "1d": 1_440 } as const;

const minute_ms = 60_000;

/** Rounded, so that the query stays the same for a minute. */
const openedBefore = (age: string | undefined): string | undefined => {
  const minutes = age === undefined || !Object.hasOwn(ages, age) ? null : ages[age as keyof typeof ages];
  if (minutes === null) return undefined;
  const now_ms = Math.floor(nowMs() / minute_ms) * minute_ms;
  return new Date(now_ms - minutes * minute_ms).toISOString();
};

/** The address may contain any text. */
const amountOf = (text: string | undefined): number | undefined => {
  const amount = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(amount) && amount >= 0 ? amount : undefined;
};

function queryOf(filters: QueueFilters, decides: boolean) {
  const status = statusOf(filters);
  const open = status === "pending";
  const wanted = {
    status: status === "all" ? undefined : (status as Escalation["status"]),
    // The first to expire is on top.
    order: open ? (escalationOrders.find((each) => each === filters.order) ?? "expires_at") : undefined,
    agent_id: filters.agent_id,
    rule: filters.rule,
    tool: filters.tool,
    amount_usd_min: amountOf(filters.amount_usd_min),
    amount_usd_max: amountOf(filters.amount_usd_max),
    to: openedBefore(filters.age),
    text: filters.text,
    missing_fact: filters.missing_fact,
    uncovered: filters.uncovered === "true" ? ("true" as const) : undefined,
    snoozed: open && decides ? (filters.snoozed === "only" ? ("only" as const) : ("exclude" as const)) : undefined,
    reviewer: filters.reviewer,
    mode: filters.mode as Escalation["pipeline_mode"] | undefined,
  };
  type Query = { readonly [K in keyof typeof wanted]?: Exclude<(typeof wanted)[K], undefined> };
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)) as Query;
}

/** A review of the caller is in the caller's part and again in its place in the order. The first one stays. */
function eachOnce(rows: readonly Escalation[]): Escalation[] {
  const seen = new Set<string>();
  return rows.filter(({ escalation_id }) => seen.size < seen.add(escalation_id).size);
}

/** `decides`: the caller may decide, so the queue omits what the caller snoozed. */
export function useQueue(filters: QueueFilters, decides: boolean) {
  const client = useClient();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const query = queryOf(filters, decides);
  const mine_first = decides && query.status === "pending" && filters.mine === "first";
  const paged = usePaged(
    [...queueKey, query, mine_first],
    async (cursor) => {
      const of = { ...query, limit: page_rows };
      const page = await client.listEscalations({ ...of, ...(cursor === undefined ? {} : { cursor }) });
      const mine =
        mine_first && cursor === undefined
          ? await client.listEscalations({ ...of, mine: "only" })
          : { escalations: [] };
      return { rows: [...mine.escalations, ...page.escalations], next_cursor: page.next_cursor };
    },
    { refetchInterval: watch_ms, joins: true },
  );
  const list = { ...paged, rows: mine_first ? eachOnce(paged.rows) : paged.rows };
  const groups = useMemo(() => groupsOf(list.rows), [list.rows]);
  const visible = groups.flatMap(({ key, members }) => (opened.has(key) ? members : members.slice(0, 1)));
  /** Shows or hides all but the first member of a group. */
  const toggle = (key: string) => {
    const next = new Set(opened);
    if (!next.delete(key)) next.add(key);
    setOpened(next);
  };
  return { list, groups, visible, opened, toggle, status: statusOf(filters) };
}

export type Queue = ReturnType<typeof useQueue>;
