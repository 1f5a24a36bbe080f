/** The interface between the HTTP layer and a use case. Input is checked; only status and headers remain of HTTP. */
import type { OperationId, operations, Problem } from "@countersign/contract";
import type { Static, TSchema } from "typebox";
import type { Caller } from "../operations/shared/caller.ts";

type Table = typeof operations;
type SchemaOf<Row, Part extends string> = Row extends Record<Part, infer S extends TSchema> ? Static<S> : undefined;

/** One request that has passed the gate. `params`, `query` and `body` fit the schemas of the operation's row. */
export interface OperationRequest<Id extends OperationId = OperationId> {
  /** Null if and only if the operation needs no key. */
  readonly caller: Table[Id]["auth"] extends "none" ? null : Caller;
  readonly params: SchemaOf<Table[Id], "params">;
  readonly query: SchemaOf<Table[Id], "query">;
  readonly body: SchemaOf<Table[Id], "body">;
  /**
   * The parts of the body that must not be stored. Only for operations that examine their `body`; for others the HTTP
   * layer refuses such bodies.
   */
  readonly body_problems: readonly Problem[];
  /** Finds such problems in a part of the body. Only for operations that examine their `items`. */
  readonly examine: (part: unknown) => readonly Problem[];
  /** The size of the body as received. */
  readonly body_bytes: number;
  /** The checked Idempotency-Key header. Only for operations that take one. */
  readonly idempotency_key: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly request_id: string;
  /** Aborted when the client leaves before its answer is complete. Only long operations call this. */
  readonly left: () => AbortSignal;
  /** The peer of the connection is this machine, and the request has no sign of a proxy. */
  readonly local: boolean;
  /** Returns the client's address as reported by trusted proxies. */
  readonly client_ip: () => string;
}

/**
 * The answer of a use case. Refusals are thrown as `Fault`. The status is below 400. `json_text` is a finished JSON
 * text and is sent unchanged. Otherwise `body` is serialised. Neither: no body. On operations with `conditional` the
 * HTTP layer adds the ETag and turns a match into 304.
 */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly json_text?: string;
  /**
   * JSON texts that are sent one a line as they come (application/x-ndjson). If they end with a fault, its error object
   * is the last line, because the status is already sent.
   */
  readonly lines?: AsyncIterable<string>;
  /**
   * Header names in their usual capitals. Content-Type replaces application/json for a `json_text` in another format.
   */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One use case as HTTP sees it. */
export type Handler<Id extends OperationId = OperationId> = (request: OperationRequest<Id>) => Promise<Answer>;

/** A handler for every operation. The router makes the routes from it. */
export type Handlers = { readonly [Id in OperationId]: Handler<Id> };
