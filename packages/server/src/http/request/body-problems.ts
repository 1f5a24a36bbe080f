import { limits, type Problem } from "@countersign/contract";
import { contextErrors, Fault, type FaultDetail } from "@countersign/core";

/** A submission as it came, with its size on the wire. */
export interface Submitted {
  readonly value: unknown;
  readonly bytes: number;
  readonly now_us: number;
}

/**
 * Refuses a body for what must not be kept of it and for its shape, together. Of a submission the context document is
 * checked by itself where the rest is right; where it is not, its problems are told beside the others, so that nobody who
 * mended those hears of it only then. Of a large submission it is left out. Faults: invalid_request. Source: api.md §2.
 */
export function refuseProblems(
  unstorable: readonly Problem[],
  of_shape: readonly FaultDetail[],
  submitted: Submitted | null,
): never {
  const told = new Set<unknown>(unstorable.map(({ path }) => path));
  const others = [...of_shape, ...(submitted === null ? [] : contextProblems(submitted))];
  const details = [...unstorable.map((problem) => ({ ...problem })), ...others.filter(({ path }) => !told.has(path))];
  throw new Fault("invalid_request", { details });
}

function contextProblems({ value, bytes, now_us }: Submitted): FaultDetail[] {
  if (bytes > limits.problems_collected_bytes_max || !hasContext(value)) return [];
  return contextErrors(value.context, now_us).map((problem) => ({ ...problem, path: `/context${problem.path}` }));
}

function hasContext(value: unknown): value is { context: unknown } {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "context");
}
