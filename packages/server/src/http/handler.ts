import type { OperationId, operations, Problem } from "@countersign/contract";
import type { Static, TSchema } from "typebox";
import type { Caller } from "../operations/shared/caller.ts";

type Table = typeof operations;
type SchemaOf<Row, Part extends string> = Row extends Record<Part, infer S extends TSchema> ? Static<S> : undefined;

/** A request that has passed the gate. `params`, `query` and `body` fit the operation's schemas. */
export interface OperationRequest<Id extends OperationId = OperationId> {
  /** Null if and only if the operation needs no key. */
  readonly caller: Table[Id]["auth"] extends "none" ? null : Caller;
  readonly params: SchemaOf<Table[Id], "params">;
  readonly query: SchemaOf<Table[Id], "query">;
  readonly body: SchemaOf<Table[Id], "body">;
  /** Parts of the body that must not be stored. Only for operations that examine their `body`. */
  readonly body_problems: readonly Problem[];
  /** Only for operations that examine their `items`. */
  readonly examine: (part: unknown) => readonly Problem[];
  /** As received. */
  readonly body_bytes: number;
  /** Checked. Only for operations that take one. */
  readonly idempotency_key: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly request_id: string;
  /** Aborted when the client leaves. Only for long operations. */
  readonly left: () => AbortSignal;
  /** The peer is this machine, without a sign of a proxy. */
  readonly local: boolean;
  /** As reported by trusted proxies. */
  readonly client_ip: () => string;
}

/**
 * The answer of a use case, with a status below 400. Refusals are thrown as `Fault`. `json_text` is sent unchanged,
 * `body` is serialised. With `conditional`, an ETag is added, and a match becomes 304.
 */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly json_text?: string;
  /** JSON texts, one a line (application/x-ndjson). After a fault, its error object is the last line. */
  readonly lines?: AsyncIterable<string>;
  /** The bytes of a file, in order. After a fault the connection breaks, so that nobody takes a part for the whole. */
  readonly file?: AsyncIterable<Uint8Array>;
  /** Names in their usual capitals. Content-Type replaces application/json. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type Handler<Id extends OperationId = OperationId> = (request: OperationRequest<Id>) => Promise<Answer>;

export type Handlers = { readonly [Id in OperationId]: Handler<Id> };
