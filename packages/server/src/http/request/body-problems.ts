import { limits, type Problem } from "@countersign/contract";
import { contextErrors, Fault, type FaultDetail } from "@countersign/core";

/** A submission with its size as received. */
export interface Submitted {
  readonly value: unknown;
  readonly bytes: number;
  readonly now_us: number;
}

/**
 * Refuses a body for parts that must not be stored and for its shape, together. The context document of a submission is
 * checked separately if the rest is right. Otherwise its problems are listed beside the others, so that the caller sees
 * all at once. They are omitted for a large submission. Faults: invalid_request.
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
