/** The HTTP requests of clients that have no answer yet, and the ids under which governor and server know them. */
import { idKey, isId, type JsonObject, type Message, metaOf, type RequestId } from "../protocol/messages.ts";
import type { ClientStream } from "./client-stream.ts";
import type { Headers } from "./remote.ts";
import type { Ids, Renaming } from "./renaming.ts";
import type { Refusal } from "./server-link.ts";

/** An HTTP request of a client. */
export interface ClientRequest {
  readonly stream: ClientStream;
  /** For the server. */
  readonly headers: Headers;
  /** Identifies the credentials in these headers. */
  readonly credentials: string;
  /** Returns the headers of a server's refusal that the client gets. */
  readonly passed: (refusal: Refusal) => Headers;
}

/** One message of a client, and its HTTP request. */
export interface Exchange extends ClientRequest {
  /** The id that governor and server know; null: the message is not a request. */
  readonly key: string | null;
  /** Null: governor and server know the client's own ids. */
  readonly renaming: Renaming | null;
  readonly token_key: string | null;
  /** The server's refusal, which the client gets for an error of the governor. */
  refusal: Refusal | null;
  /** The server got the message. */
  is_sent: boolean;
}

export class Exchanges {
  readonly #open = new Map<string, Exchange>();
  #renamed = 0;

  get size(): number {
    return this.#open.size;
  }

  all(): Exchange[] {
    return [...this.#open.values()];
  }

  /** Returns the exchange of a client's message. `open` begins it. */
  make({ id, method, params = {} }: Message, request: ClientRequest): Exchange {
    const { progressToken } = metaOf(params);
    const given = { id: id ?? "", token: isId(progressToken) ? progressToken : null };
    const known = id === undefined || method === undefined ? null : this.#unused(given);
    const renaming = known === null || (known.id === id && known.token === given.token) ? null : { own: given, known };
    return {
      ...{ ...request, renaming, refusal: null, is_sent: false },
      key: known === null ? null : idKey(known.id),
      token_key: known === null || known.token === null ? null : idKey(known.token),
    };
  }

  /** Only requests stay open, because nothing else gets an answer. */
  open(exchange: Exchange): void {
    if (exchange.key !== null) this.#open.set(exchange.key, exchange);
  }

  forget({ key }: Exchange): void {
    this.#open.delete(key ?? "");
  }

  get(id: RequestId): Exchange | undefined {
    return this.#open.get(idKey(id));
  }

  /** Ends the exchange that the answer with this id belongs to, and returns it. Accepts "1" for 1. */
  end(id: RequestId): Exchange | undefined {
    const exchange = this.get(id) ?? this.get(Number(id));
    if (exchange !== undefined) this.forget(exchange);
    return exchange;
  }

  /** Returns the exchange with the progress token of a notification. */
  withToken(token: JsonObject[string]): Exchange | undefined {
    return isId(token) ? this.all().find(({ token_key }) => token_key === idKey(token)) : undefined;
  }

  /** Returns the ids, or others if another request has them. The governor's own requests begin with `countersign-`. */
  #unused({ id, token }: Ids): Ids {
    const tokens = new Set(this.all().map(({ token_key }) => token_key));
    return {
      id: this.#other(id, (each) => this.#open.has(idKey(each)) || String(each).startsWith("countersign-")),
      token: token === null ? null : this.#other(token, (each) => tokens.has(idKey(each))),
    };
  }

  #other(given: RequestId, is_used: (id: RequestId) => boolean): RequestId {
    let id = given;
    while (is_used(id)) {
      this.#renamed += 1;
      id = `client-${this.#renamed}`;
    }
    return id;
  }
}
