import type { IntentListItem } from "@countersign/contract";

/** A step of a run, in the order of time. */
export type Step =
  | { readonly kind: "decided"; readonly at: string; readonly row: IntentListItem }
  | { readonly kind: "followed"; readonly at: string; readonly row: IntentListItem }
  | { readonly kind: "gap"; readonly at: string; readonly seconds: number };

/** A shorter pause is the usual work of an agent. */
const gap_seconds_min = 60;

/** Returns the steps of these actions, oldest first, with the pauses between them. */
export function stepsOf(rows: readonly IntentListItem[]): readonly Step[] {
  const steps = rows.flatMap((row): Exclude<Step, { kind: "gap" }>[] => {
    const { execution } = row;
    const decided = { kind: "decided", at: row.submitted_at, row } as const;
    if (execution === undefined || execution.status === "none") return [decided];
    return [decided, { kind: "followed", at: execution.at ?? row.submitted_at, row }];
  });
  steps.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || order(a) - order(b));
  return steps.flatMap((step, index): Step[] => {
    const before = steps[index - 1];
    const seconds = before === undefined ? 0 : (Date.parse(step.at) - Date.parse(before.at)) / 1_000;
    return seconds < gap_seconds_min ? [step] : [{ kind: "gap", at: step.at, seconds }, step];
  });
}

const order = ({ kind }: Step) => (kind === "decided" ? 0 : 1);
