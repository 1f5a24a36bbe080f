import type { Answer } from "../handler.ts";

/**
 * The answer of an operation under an Idempotency-Key: as it was given, or where this repeats it, with status 200 and the
 * header that says so. Source: api.md §2.
 */
export function answerOnce(replayed: boolean, answer: Answer): Answer {
  return replayed ? { ...answer, status: 200, headers: { ...answer.headers, "Idempotent-Replayed": "true" } } : answer;
}
