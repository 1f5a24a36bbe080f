/**
 * One POST up to the status line of its answer; what follows is dropped. Below undici's `request`: its stream of the body, its
 * signal and their listeners took as much processor time as TLS and the rest of HTTP together (measured).
 */
import { limits } from "@countersign/contract";
import type { Dispatcher } from "undici";
import type { Timers } from "../../ports.ts";
import type { OverheardRequest } from "./guarded-connections.ts";
import { statusLineReader } from "./status-line.ts";

/** What is sent, and by whom. */
export interface ExchangeTerms {
  readonly dispatcher: Dispatcher;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly after: Timers["after"];
}

/** How long the rest of an answer may still take, so that its connection can be used again. */
const rest_of_answer_ms = 1_000;

class Dropped extends Error {}

/**
 * Starts it. `onStatus` is called once with the status, or `onError` once with what went wrong, unless `abort` was called
 * before: then neither, and nothing is sent any more that was not already.
 */
export function exchange(
  { dispatcher, path, headers, body, after }: ExchangeTerms,
  onStatus: (status: number) => void,
  onError: (error: unknown) => void,
): { abort(): void } {
  let controller: Dispatcher.DispatchController | null = null;
  let state: "open" | "answered" | "ended" = "open";
  let bytes = 0;
  let cancelRest: (() => void) | null = null;

  function drop(): void {
    controller?.abort(new Dropped());
  }
  function end(): boolean {
    const open = state === "open";
    state = "ended";
    cancelRest?.();
    return open;
  }

  const handler: Dispatcher.DispatchHandler = {
    // Only now undici can be told to stop: the connection is there.
    onRequestStart(started) {
      controller = started;
      if (state === "ended") drop();
    },
    onResponseData(_controller, chunk) {
      bytes += chunk.length;
      if (bytes > limits.delivery_answer_bytes_max) drop();
    },
    onResponseEnd: () => void end(),
    onResponseError(_controller, error) {
      if (end()) onError(error);
    },
  };
  const readStatus = statusLineReader((status) => {
    if (state !== "open") return;
    state = "answered";
    cancelRest = after(rest_of_answer_ms, drop);
    onStatus(status);
  });
  // What an idle connection sends before the request starts answers nothing.
  const onBytes = (read: Buffer) => controller !== null && readStatus(read);
  const request: OverheardRequest = { method: "POST", path, headers, body, onBytes };
  dispatcher.dispatch(request, handler);
  return {
    abort() {
      end();
      drop();
    },
  };
}
