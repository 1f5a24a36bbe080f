import type { AnswerBody, OperationId } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { expect, test } from "vitest";

/**
 * Methods of exports hand out parts of the file and return the summary in the last line. Receipts and tiles are files,
 * returned as they are.
 */
type Called = Exclude<
  OperationId & keyof Client,
  "exportDecisions" | "exportAudit" | "exportReceipts" | "getIntentReceipt" | "getLogTile"
>;
/** The resource in an answer, without its envelope, and the fields beside it. */
type Unwrapped<A> = A extends null
  ? null
  : A extends { policy: infer P }
    ? P & Omit<A, "policy">
    : A extends { membrane: infer M }
      ? M & Omit<A, "membrane">
      : A[keyof A];
type Given<Id extends Called> = Client[Id] extends (...given: never[]) => Promise<infer R> ? R : never;

type Fixed<T> = T extends object ? { readonly [K in keyof T]: Fixed<T[K]> } : T;
type Same<A, B> = [Fixed<A>, Fixed<B>] extends [Fixed<B>, Fixed<A>] ? true : false;
type Fits<Id extends Called> = true extends Same<Given<Id>, AnswerBody<Id>> | Same<Given<Id>, Unwrapped<AnswerBody<Id>>>
  ? true
  : false;
type Wrong = { [Id in Called]: Fits<Id> extends true ? never : `${Id}` }[Called];

test("every method returns its operation's answer or the resource in it (the compiler names exceptions)", () => {
  const none: Record<Wrong, never> = {};
  expect(none).toEqual({});
});
