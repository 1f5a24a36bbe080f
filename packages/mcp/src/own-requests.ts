import { type Answer, idKey, isObject, type JsonObject, textIn } from "./protocol/messages.ts";

interface OwnRequest {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

/** Requests of the governor itself to the server. The client does not see them. */
export class OwnRequests {
  readonly #toServer: (line: string) => void;
  readonly #open = new Map<string, OwnRequest>();
  #sent = 0;

  constructor(toServer: (line: string) => void) {
    this.#toServer = toServer;
  }

  has(key: string): boolean {
    return this.#open.has(key);
  }

  /** Resolves to the result. Rejects with the server's error. */
  ask(method: string, params: JsonObject): Promise<JsonObject> {
    this.#sent += 1;
    const id = `countersign-${this.#sent}`;
    return new Promise((resolve, reject) => {
      this.#open.set(idKey(id), { resolve, reject });
      this.#toServer(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  /** Returns false if the answer belongs to none of these requests. */
  take({ id, result, error }: Answer): boolean {
    const request = this.#open.get(idKey(id));
    if (request === undefined) return false;
    this.#open.delete(idKey(id));
    if (isObject(result)) request.resolve(result);
    else request.reject(new Error(textIn(error)));
    return true;
  }
}
