/** Caches answers by ETag in memory, so that an unchanged queue costs no budget. */
import { type Client, createClient } from "@countersign/sdk";
import { useSyncExternalStore } from "react";
import { learnTime } from "../browser/clock.ts";
import { unansweredKeys } from "./unanswered-keys.ts";

export type Connection = "up" | "down";

let connection: Connection = "up";
const watchers = new Set<() => void>();

function setConnection(next: Connection): void {
  if (next === connection) return;
  connection = next;
  for (const watcher of watchers) watcher();
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => connection,
  );
}

interface Remembered {
  readonly etag: string;
  readonly text: string;
}

const remembered_max = 60;

/** The service does not read the body then, so an earlier, unanswered request may still have taken effect. */
const refusedUnread = [401, 403, 429];

/** Shared by all clients of this page, so that requests without an answer keep their keys after a new sign-in. */
const keys = unansweredKeys();

/**
 * The cache and the writes belong to one caller only, even if another person signs in in another tab. `onRefused` gets
 * every 401 and 403.
 */
function callerFetch(name: string | null, onRefused: (refusal: Response) => void): typeof globalThis.fetch {
  const known = new Map<string, Remembered>();
  const under_way = new Map<string, Promise<Response>>();

  const ask = async (url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    const request = `${headers.get("x-api-key") ?? name} ${url} ${init.body ?? ""}`;
    const key = headers.get("idempotency-key");
    if (key !== null) headers.set("idempotency-key", keys.keyOf(request, key));
    if (name !== null && init.method !== "GET") headers.set("x-service-caller", name);
    const before = init.method === "GET" ? known.get(url) : undefined;
    if (before !== undefined) headers.set("if-none-match", before.etag);
    let response: Response;
    try {
      response = await fetch(url, { ...init, headers, cache: "no-store", credentials: "same-origin" });
    } catch (error) {
      if (init.signal?.aborted !== true) setConnection("down");
      throw error;
    }
    learnTime(response.headers.get("date"));
    // A proxy answers for a service that is down.
    setConnection(response.status === 502 || response.status === 504 ? "down" : "up");
    if (key !== null && response.status < 500 && !refusedUnread.includes(response.status)) keys.answered(request);
    if (response.status === 401 || response.status === 403) onRefused(response.clone());
    if (response.status === 304 && before !== undefined) {
      return new Response(before.text, { status: 200, headers: { "content-type": "application/json" } });
    }
    const etag = response.headers.get("etag");
    if (init.method === "GET" && response.ok && etag !== null) {
      const text = await response.text();
      known.delete(url);
      known.set(url, { etag, text });
      if (known.size > remembered_max) known.delete(known.keys().next().value as string);
      return new Response(text, { status: 200, headers: response.headers });
    }
    return response;
  };

  return async (input, init = {}) => {
    const url = String(input);
    if (init.method !== "GET") {
      // Later reads must not reuse earlier answers.
      return ask(url, init).finally(() => under_way.clear());
    }
    // Equal reads at the same time share one request.
    const asked = under_way.get(url) ?? ask(url, init);
    under_way.set(url, asked);
    const forget = () => void (under_way.get(url) === asked && under_way.delete(url));
    asked.then(forget, forget);
    return (await asked).clone();
  };
}

/**
 * `api_key` null: uses the browser's session or open mode. `name` is then the caller: a user_id or `open_mode`; null if
 * unknown.
 */
export function connect(api_key: string | null, name: string | null, onRefused: (refusal: Response) => void): Client {
  return createClient({
    base_url: location.origin,
    ...(api_key === null ? {} : { api_key }),
    fetch: callerFetch(name, onRefused),
    retries_max: 1,
    retry_wait_seconds_max: 3,
  });
}
