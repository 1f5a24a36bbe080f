import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";

const lines = async (metrics: ReturnType<typeof createMetrics>) => (await metrics.text()).split("\n");

test("series for alarms are 0 before their first count, so that the first count is an increase", async () => {
  const metrics = createMetrics();
  const never = [
    'countersign_refusals_total{code="internal_error"} 0',
    'countersign_decisions_total{verdict="escalate",mode="live"} 0',
    'countersign_delivery_attempts_total{status="failed"} 0',
    'countersign_mail_attempts_total{outcome="given_up"} 0',
    'countersign_context_pulls_total{outcome="source_timeout"} 0',
    "countersign_rate_takes_alone_total 0",
  ];
  expect(await lines(metrics)).toEqual(expect.arrayContaining(never));
  metrics.mailed("given_up");
  metrics.refused("internal_error");
  const counted = await lines(metrics);
  expect(counted).toContain('countersign_mail_attempts_total{outcome="given_up"} 1');
  expect(counted).toContain('countersign_refusals_total{code="internal_error"} 1');
});

test("sessions and the backlog are read at each scrape; unknown values are omitted", async () => {
  const metrics = createMetrics();
  let backlog: { events: number; deliveries: number; mails: number } | null = { events: 3, deliveries: 2, mails: 1 };
  metrics.watchSessions(() => ({ total: 5, idle: 2, waiting: 4 }));
  metrics.watchBacklog(async () => backlog);
  const sessions = [
    'countersign_database_sessions{state="busy"} 3',
    'countersign_database_sessions{state="idle"} 2',
    'countersign_database_sessions{state="waiting"} 4',
  ];
  const waiting = [
    'countersign_backlog_rows{what="events"} 3',
    'countersign_backlog_rows{what="deliveries"} 2',
    'countersign_backlog_rows{what="mails"} 1',
  ];
  expect(await lines(metrics)).toEqual(expect.arrayContaining([...sessions, ...waiting]));
  backlog = null;
  const unknown = await lines(metrics);
  expect(unknown).toEqual(expect.arrayContaining(sessions));
  expect(unknown.filter((line) => line.startsWith("countersign_backlog_rows"))).toEqual([]);
});
