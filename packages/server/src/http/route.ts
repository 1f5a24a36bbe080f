import type { Operation, OperationId } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import type { Handler } from "./handler.ts";
import { queryReader, type ReadQuery } from "./request/query.ts";
import { type Check, compileCheck } from "./request/validate.ts";

export interface Route {
  readonly id: OperationId;
  readonly operation: Operation;
  /** Callers may come from memory. */
  readonly recall: boolean;
  readonly readQuery: ReadQuery;
  readonly checkParams: Check;
  readonly checkBody: Check;
  readonly handler: Handler;
}

const anything: Check = () => null;
const emptyObject = compileCheck({ type: "object", additionalProperties: false });
/** Clients often send `{}` or `null` for nothing. */
const nothing: Check = (value, bytes) => (value === null ? null : emptyObject(value, bytes));

export function routeOf(id: OperationId, operation: Operation, handler: Handler): Route {
  return {
    id,
    operation,
    // Not for batches: they answer 200 without a commit, so a revoked key could succeed from memory.
    recall: id === "submitIntent",
    readQuery: operation.rate === null ? () => ({ query: {} }) : queryReader(operation.query),
    checkParams: operation.params === undefined ? anything : compileCheck(operation.params),
    checkBody: operation.body === undefined ? nothing : compileCheck(operation.body),
    handler,
  };
}

/** Faults: invalid_request. */
export function queryOf(route: Route, url: string): object {
  const read = route.readQuery(url);
  if ("query" in read) return read.query;
  throw new Fault("invalid_request", { details: read.problems });
}

/** An impossible id is not found. For a PUT, the fault names the mistake. Faults: not_found, invalid_request. */
export function paramsOf(route: Route, params: unknown): object {
  // The router's object has a class, which canonical JSON refuses.
  const given: Readonly<Record<string, string>> = { ...(params as object) };
  const problems = route.checkParams(given, 0);
  const unstorable = Object.values(given).some((value) => /\0|\p{Surrogate}/u.test(value));
  if (problems === null && !unstorable) return given;
  if (route.operation.method !== "PUT") throw new Fault("not_found");
  const character = { path: "", code: "forbidden_character", message: "Remove NUL characters from the path." };
  throw new Fault("invalid_request", { details: problems ?? [character] });
}

const printable = /^[\x20-\x7e]{1,255}$/;

/** Faults: invalid_request. */
export function idempotencyKeyOf(route: Route, header: string | string[] | undefined): string | undefined {
  if (header === undefined || route.operation.idempotent !== true) return undefined;
  if (typeof header === "string" && printable.test(header)) return header;
  const message = "Send an Idempotency-Key of 1 to 255 printable ASCII characters.";
  throw faultAt("invalid_request", "/Idempotency-Key", "bad_format", message);
}
