/** Requests of the client that pass undecided: what to learn from their answers, and what to change in them. */
import { type Answer, idKey, isObject, type JsonObject, type RequestId } from "./protocol/messages.ts";
import { remember } from "./remember.ts";

interface PassedRequest {
  readonly learn?: ((result: JsonObject) => void) | undefined;
  readonly change?: ((line: string) => string | Promise<string>) | undefined;
}

export class PassedRequests {
  readonly #open = new Map<string, PassedRequest>();

  has(id: RequestId): boolean {
    return this.#open.has(idKey(id));
  }

  begin(id: RequestId, request: PassedRequest): void {
    remember(this.#open, idKey(id), request);
  }

  /** Returns the answer for the client. Throws `RangeError` if it cannot be written. */
  take({ id, result }: Answer, line: string): string | Promise<string> {
    const request = this.#open.get(idKey(id));
    this.#open.delete(idKey(id));
    if (isObject(result)) request?.learn?.(result);
    return request?.change?.(line) ?? line;
  }
}
