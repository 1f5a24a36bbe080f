import type { Erased, Execution } from "@countersign/contract";
import { currentDecision, type StoredDecision, type StoredExecution } from "../../store/intents/intents.ts";
import { shownActor } from "../shared/caller.ts";

/** Returns what became of an action. `stored` null: nobody claimed it or reported anything. */
export function shownExecution(stored: StoredExecution | null): Execution {
  if (stored === null) return { status: "none", at: null, by: null };
  const { status, at, actor } = stored;
  return { status, at, by: shownActor(actor) };
}

/** Adds what became of an action to the JSON text of its decision, which stays byte-identical otherwise. */
export function withExecution(
  decision_text: string,
  stored: StoredExecution | null,
  erased: Erased | null = null,
): string {
  const members = { execution: shownExecution(stored), ...(erased === null ? {} : { erased }) };
  return `${decision_text.slice(0, -1)},${JSON.stringify(members).slice(1)}`;
}

export function presentDecision(
  stored: Pick<StoredDecision, "decision" | "resolution" | "execution" | "erased">,
): string {
  return withExecution(currentDecision(stored), stored.execution, stored.erased);
}
