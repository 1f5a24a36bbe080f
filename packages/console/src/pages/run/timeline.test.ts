import type { IntentListItem } from "@countersign/contract";
import { expect, test } from "vitest";
import { stepsOf } from "./timeline.ts";

const row = (intent_id: string, submitted_at: string, executed_at?: string) =>
  ({
    intent_id,
    submitted_at,
    ...(executed_at === undefined ? {} : { execution: { status: "executed", at: executed_at, by: null } }),
  }) as unknown as IntentListItem;

test("the steps of a run are in the order of time, with pauses of a minute and more between them", () => {
  const steps = stepsOf([
    row("second", "2026-11-01T10:00:30Z", "2026-11-01T10:00:30Z"),
    row("first", "2026-11-01T10:00:00Z", "2026-11-01T10:05:00Z"),
    row("third", "2026-11-01T10:05:59Z"),
  ]);
  expect(steps.map((step) => (step.kind === "gap" ? step.seconds : `${step.row.intent_id} ${step.kind}`))).toEqual([
    "first decided",
    "second decided",
    "second followed",
    270,
    "first followed",
    "third decided",
  ]);
});
