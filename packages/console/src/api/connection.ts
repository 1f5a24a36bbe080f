/**
 * The way to the service: the SDK's client over a fetch of our own, which remembers answers by their ETag (an unchanged
 * queue costs no budget, and nothing is kept on disk), and knows whether the service can be reached.
 */
import { type Client, createClient } from "@countersign/sdk";
import { useSyncExternalStore } from "react";

/** What the last request said about the connection. */
export type Connection = "up" | "down";

let connection: Connection = "up";
const watchers = new Set<() => void>();

function setConnection(next: Connection): void {
  if (next === connection) return;
  connection = next;
  for (const watcher of watchers) watcher();
}

/** Whether the service answers. */
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

/** A fetch for one caller: what it remembers is never another's. `onRefused` hears of every 401. */
function callerFetch(onRefused: () => void): typeof globalThis.fetch {
  const known = new Map<string, Remembered>();
  return async (input, init = {}) => {
    const url = String(input);
    const headers = new Headers(init.headers);
    const before = init.method === "GET" ? known.get(url) : undefined;
    if (before !== undefined) headers.set("if-none-match", before.etag);
    let response: Response;
    try {
      response = await fetch(url, { ...init, headers, cache: "no-store", credentials: "same-origin" });
    } catch (error) {
      if (init.signal?.aborted !== true) setConnection("down");
      throw error;
    }
    // A proxy that answers for a service that is down.
    setConnection(response.status === 502 || response.status === 504 ? "down" : "up");
    if (response.status === 401) onRefused();
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
}

/** A client of the service that this page came from. Null: no key; the browser's session or open mode speaks. */
export function connect(api_key: string | null, onRefused: () => void): Client {
  return createClient({
    base_url: location.origin,
    ...(api_key === null ? {} : { api_key }),
    fetch: callerFetch(onRefused),
    retries_max: 1,
    retry_wait_seconds_max: 3,
  });
}
