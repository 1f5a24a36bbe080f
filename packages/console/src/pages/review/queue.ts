import type { Escalation } from "@countersign/contract";
import { useMemo, useState } from "react";
import { useClient } from "../../api/session.tsx";
import { usePaged } from "../../parts/tables/paged.tsx";
import { groupsOf, queueKey } from "../../review/escalation-data.ts";
import { type Filters, useFilters } from "../../shell/filters.ts";

const watch_ms = 3_000;

const names = ["status", "agent_id", "reviewer", "mode", "case"] as const;

export type QueueFilters = Filters<(typeof names)[number]>;

export const useQueueFilters = () => useFilters(names);

/** The address omits the status for open escalations. */
export const statusOf = ({ status }: QueueFilters): string => status ?? "pending";

function queryOf(filters: QueueFilters) {
  const status = statusOf(filters);
  return {
    ...(status === "all" ? {} : { status: status as Escalation["status"] }),
    // The first to expire is on top.
    ...(status === "pending" ? { order: "expires_at" as const } : {}),
    ...(filters.agent_id ? { agent_id: filters.agent_id } : {}),
    ...(filters.reviewer ? { reviewer: filters.reviewer } : {}),
    ...(filters.mode ? { mode: filters.mode as Escalation["pipeline_mode"] } : {}),
  };
}

export function useQueue(filters: QueueFilters) {
  const client = useClient();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const query = queryOf(filters);
  const list = usePaged(
    [...queueKey, query],
    async (cursor) => {
      const page = await client.listEscalations({ ...query, limit: 100, ...(cursor === undefined ? {} : { cursor }) });
      return { rows: page.escalations, next_cursor: page.next_cursor };
    },
    { refetchInterval: watch_ms, joins: true },
  );
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
