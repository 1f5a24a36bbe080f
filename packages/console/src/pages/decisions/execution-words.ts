import type { Execution } from "@countersign/contract";

/** Null: nothing to say. */
export const executionWords: Readonly<Record<Execution["status"], string | null>> = {
  none: null,
  claimed: "claimed for execution",
  executed: "carried out",
  failed: "executed, and failed",
  skipped: "left out",
  unknown: "claimed, outcome unknown: find out what happened, and report it",
  handed_on: "not carried out: its approval went to an equal action",
  revoked: "not carried out: its approval was revoked",
};
