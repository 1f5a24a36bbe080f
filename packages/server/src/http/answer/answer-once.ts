import type { Answer } from "../handler.ts";

/** A repetition under an Idempotency-Key gets status 200 and a header that marks it. */
export function answerOnce(replayed: boolean, answer: Answer): Answer {
  return replayed ? { ...answer, status: 200, headers: { ...answer.headers, "Idempotent-Replayed": "true" } } : answer;
}
