/** Shows the client's user the page of a review: URL elicitation, since revision 2025-11-25. */
import { randomUUID } from "node:crypto";
import { idKey, isObject, type JsonObject, metaKeys, metaOf, type RequestId } from "../protocol/messages.ts";
import { remember } from "../remember.ts";

/** The key of the proxy's request among `inputRequests`. */
const request_key = "countersign_review";

export class ReviewLinks {
  readonly #console_url: string;
  readonly #send: (message: JsonObject) => void;
  #client_can = false;
  /** Requests that the client has not answered. */
  readonly #open = new Map<string, null>();
  /** Ids of shown pages. */
  readonly #shown = new Map<string, string>();

  constructor(console_url: string, send: (message: JsonObject) => void) {
    this.#console_url = console_url;
    this.#send = send;
  }

  clientIs(capabilities: JsonObject[string]): void {
    this.#client_can = canOpen(capabilities);
  }

  /** Since revision 2026-07-28 each request names the capabilities of its client. */
  canShow(params: JsonObject, typed: boolean): boolean {
    return typed ? canOpen(metaOf(params)[metaKeys.capabilities]) : this.#client_can;
  }

  pageOf(escalation_id: string | null): string {
    return `${this.#console_url}/escalations/${encodeURIComponent(escalation_id ?? "")}`;
  }

  /** Asks the client to show the page, once. */
  show(page: string, about: string): void {
    if (this.#shown.has(page)) return;
    const id = `countersign-${randomUUID()}`;
    remember(this.#open, idKey(id), null);
    remember(this.#shown, page, id);
    const params = { ...requestFor(page, about), elicitationId: id };
    this.#send({ jsonrpc: "2.0", id, method: "elicitation/create", params });
  }

  /** Tells the client that people have decided on a page that it was asked to show. */
  ruled(page: string): void {
    const elicitationId = this.#shown.get(page);
    if (elicitationId === undefined) return;
    this.#shown.delete(page);
    this.#send({ jsonrpc: "2.0", method: "notifications/elicitation/complete", params: { elicitationId } });
  }

  /**
   * Returns false if the client's answer belongs to the server. The answer itself does not matter: it says whether the
   * user opens the page, not what people decide.
   */
  take(id: RequestId): boolean {
    return this.#open.delete(idKey(id));
  }
}

/** Returns `inputRequests` for a client of revision 2026-07-28. */
export function requestsFor(page: string, about: string): JsonObject {
  return { [request_key]: { method: "elicitation/create", params: requestFor(page, about) } };
}

/** True: the user did not want to open the page. */
export function isDeclined({ inputResponses }: JsonObject): boolean {
  const response = isObject(inputResponses) ? inputResponses[request_key] : undefined;
  return isObject(response) && response["action"] !== "accept";
}

/** `about`: what people must decide on. */
function requestFor(page: string, about: string): JsonObject {
  const message = `A person must decide on ${about} first. Open the review in Countersign.`;
  return { mode: "url", url: page, message };
}

function canOpen(capabilities: JsonObject[string]): boolean {
  const elicitation = isObject(capabilities) ? capabilities["elicitation"] : undefined;
  return isObject(elicitation) && isObject(elicitation["url"]);
}
