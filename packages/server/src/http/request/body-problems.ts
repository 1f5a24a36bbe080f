import { limits, type Problem } from "@countersign/contract";
import { contextErrors, Fault, type FaultDetail } from "@countersign/core";

export interface Submitted {
  readonly value: unknown;
  readonly bytes: number;
  readonly now_us: number;
}

/**
 * Refuses a body for its shape and for parts that must not be stored, with all problems together. Omits problems of the
 * context document if the submission is large. Faults: invalid_request.
 */
export function refuseProblems(
  unstorable: readonly Problem[],
  of_shape: readonly FaultDetail[],
  submitted: Submitted | null,
): never {
  const reported = new Set<unknown>(unstorable.map(({ path }) => path));
  const others = [...of_shape, ...(submitted === null ? [] : contextProblems(submitted))];
  const details = [
    ...unstorable.map((problem) => ({ ...problem })),
    ...others.filter(({ path }) => !reported.has(path)),
  ];
  throw new Fault("invalid_request", { details });
}

function contextProblems({ value, bytes, now_us }: Submitted): FaultDetail[] {
  if (bytes > limits.problems_collected_bytes_max || !hasContext(value)) return [];
  return contextErrors(value.context, now_us).map((problem) => ({ ...problem, path: `/context${problem.path}` }));
}

function hasContext(value: unknown): value is { context: unknown } {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "context");
}
