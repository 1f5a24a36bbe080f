import type { Answer } from "../handler.ts";

/**
 * Returns the answer of an operation under an Idempotency-Key. A repetition gets status 200 and the header that marks
 * it.
 */
export function answerOnce(replayed: boolean, answer: Answer): Answer {
  return replayed ? { ...answer, status: 200, headers: { ...answer.headers, "Idempotent-Replayed": "true" } } : answer;
}
