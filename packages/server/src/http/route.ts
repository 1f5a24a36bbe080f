/** One row of the operations table with its compiled checks and its handler. */
import type { Operation, OperationId } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import type { Handler } from "./handler.ts";
import { queryReader, type ReadQuery } from "./request/query.ts";
import { type Check, compileCheck } from "./request/validate.ts";

/** A route. Created once at the start. */
export interface Route {
  readonly id: OperationId;
  readonly operation: Operation;
  /** Callers may come from memory, but only if the commit checks their epoch. */
  readonly recall: boolean;
  readonly readQuery: ReadQuery;
  readonly checkParams: Check;
  readonly checkBody: Check;
  readonly handler: Handler;
}

const anything: Check = () => null;
const emptyObject = compileCheck({ type: "object", additionalProperties: false });
/** The check of a body for an operation without one. Clients often send `{}` or `null` for nothing. */
const nothing: Check = (value, bytes) => (value === null ? null : emptyObject(value, bytes));

/** Creates the route of a row. */
export function routeOf(id: OperationId, operation: Operation, handler: Handler): Route {
  return {
    id,
    operation,
    // Batches are excluded: they answer 200 even if no item was committed, so a revoked key could succeed from memory.
    // One query for up to 50 decisions costs little.
    recall: id === "submitIntent",
    readQuery: operation.rate === null ? () => ({ query: {} }) : queryReader(operation.query),
    checkParams: operation.params === undefined ? anything : compileCheck(operation.params),
    checkBody: operation.body === undefined ? nothing : compileCheck(operation.body),
    handler,
  };
}

/** Returns the checked query. Faults: invalid_request. */
export function queryOf(route: Route, url: string): object {
  const read = route.readQuery(url);
  if ("query" in read) return read.query;
  throw new Fault("invalid_request", { details: read.problems });
}

/**
 * Returns the checked path parameters. An impossible id is not found. But if a PUT would create the object, the fault
 * names the mistake. Faults: not_found, invalid_request.
 */
export function paramsOf(route: Route, params: unknown): object {
  // The router's own object has a class, which canonical JSON refuses.
  const given: Readonly<Record<string, string>> = { ...(params as object) };
  const problems = route.checkParams(given, 0);
  const unstorable = Object.values(given).some((value) => /\0|\p{Surrogate}/u.test(value));
  if (problems === null && !unstorable) return given;
  if (route.operation.method !== "PUT") throw new Fault("not_found");
  const character = { path: "", code: "forbidden_character", message: "Remove NUL characters from the path." };
  throw new Fault("invalid_request", { details: problems ?? [character] });
}

const printable = /^[\x20-\x7e]{1,255}$/;

/** Returns the checked Idempotency-Key if the operation takes one. Faults: invalid_request. */
export function idempotencyKeyOf(route: Route, header: string | string[] | undefined): string | undefined {
  if (header === undefined || route.operation.idempotent !== true) return undefined;
  if (typeof header === "string" && printable.test(header)) return header;
  const message = "Send an Idempotency-Key of 1 to 255 printable ASCII characters.";
  throw faultAt("invalid_request", "/Idempotency-Key", "bad_format", message);
}
