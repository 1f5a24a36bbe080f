/** What the HTTP layer hands to a use case and takes back: everything checked, nothing of HTTP left but status and headers. */
import type { OperationId, operations, Problem } from "@countersign/contract";
import type { Static, TSchema } from "typebox";
import type { Caller } from "../operations/shared/caller.ts";

type Table = typeof operations;
type SchemaOf<Row, Part extends string> = Row extends Record<Part, infer S extends TSchema> ? Static<S> : undefined;

/** One request that has passed the gate; `params`, `query` and `body` fit the schemas of the operation's row. */
export interface OperationRequest<Id extends OperationId = OperationId> {
  /** Null exactly where the operation asks for no key. */
  readonly caller: Table[Id]["auth"] extends "none" ? null : Caller;
  readonly params: SchemaOf<Table[Id], "params">;
  readonly query: SchemaOf<Table[Id], "query">;
  readonly body: SchemaOf<Table[Id], "body">;
  /** What must not be kept of the body; only where the operation examines its `body`, elsewhere such bodies are refused. */
  readonly body_problems: readonly Problem[];
  /** The same for a part of the body; only where the operation examines its `items`. */
  readonly examine: (part: unknown) => readonly Problem[];
  /** How large the body was as it came. */
  readonly body_bytes: number;
  /** The Idempotency-Key header, checked; only on operations that take one. */
  readonly idempotency_key: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly request_id: string;
  /** Aborted once the client has left before it had its whole answer. Asked for only by what takes long. */
  readonly left: () => AbortSignal;
  /** The peer of the connection is this machine, and nothing says that it speaks for another. */
  readonly local: boolean;
  /** The address of the client, as far as it can be believed. */
  readonly client_ip: () => string;
}

/**
 * What a use case answers; refusals are thrown as `Fault`. The status is below 400. `json_text` is a finished JSON text and
 * is sent as it stands; otherwise `body` is serialised; neither: no body. On operations with `conditional` the HTTP layer
 * adds the ETag and turns a match into 304.
 */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly json_text?: string;
  /**
   * JSON texts that are sent as they come, one a line (application/x-ndjson). Where they end with a fault, its error object
   * is the last line: the status has been sent by then.
   */
  readonly lines?: AsyncIterable<string>;
  /** Header names in their usual capitals. Content-Type replaces application/json for a `json_text` that is none. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One use case as HTTP sees it. */
export type Handler<Id extends OperationId = OperationId> = (request: OperationRequest<Id>) => Promise<Answer>;

/** A handler for every operation; the router makes the routes from it. */
export type Handlers = { readonly [Id in OperationId]: Handler<Id> };
