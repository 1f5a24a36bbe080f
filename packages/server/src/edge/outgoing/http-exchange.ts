/**
 * Makes one POST up to the status line of its answer, and drops the rest. Uses a lower level than undici's `request`.
 * The body's stream, the signal and their listeners took as much processor time as TLS and the rest of HTTP together
 * (measured).
 */
import { limits } from "@countersign/contract";
import type { Dispatcher } from "undici";
import type { Timers } from "../../ports.ts";
import type { OverheardRequest } from "./guarded-connections.ts";
import { statusLineReader } from "./status-line.ts";

/** The content of one request, and its callbacks. */
export interface ExchangeTerms {
  readonly dispatcher: Dispatcher;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly after: Timers["after"];
}

/** How long the rest of an answer may take, so that its connection can be reused. */
const rest_of_answer_ms = 1_000;

class Dropped extends Error {}

/**
 * Starts the request. Calls `onStatus` once with the status, or `onError` once with the error. After `abort`, neither
 * is called and nothing more is sent.
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
    // undici can be stopped only after this event, because the connection exists now.
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
  // Bytes from an idle connection before the request starts are not its answer.
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
