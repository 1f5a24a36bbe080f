import { limits } from "@countersign/contract";
import { contextErrors, type FaultDetail } from "@countersign/core";

/**
 * The problems of a submission's shape, and beside them those of the context document in it: it is checked by itself
 * where the shape fits, and who mends the one should not hear of the other only then. Of a large one the shape's alone.
 */
export function submissionProblems(
  of_shape: readonly FaultDetail[],
  submission: unknown,
  bytes: number,
  now_us: number,
): FaultDetail[] {
  if (bytes > limits.problems_collected_bytes_max || !hasContext(submission)) return [...of_shape];
  const of_context = contextErrors(submission.context, now_us);
  return [...of_shape, ...of_context.map((problem) => ({ ...problem, path: `/context${problem.path}` }))];
}

function hasContext(submission: unknown): submission is { context: unknown } {
  return typeof submission === "object" && submission !== null && Object.hasOwn(submission, "context");
}
