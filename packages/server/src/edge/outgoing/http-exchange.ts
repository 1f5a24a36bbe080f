/** Makes one POST, up to the status line of its answer. undici's `request` takes twice the processor time. */
import { limits } from "@countersign/contract";
import type { Dispatcher } from "undici";
import type { Timers } from "../../ports.ts";
import type { OverheardRequest } from "./guarded-connections.ts";
import { statusLineReader } from "./status-line.ts";

export interface ExchangeTerms {
  readonly dispatcher: Dispatcher;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly after: Timers["after"];
}

/** Time for the rest of an answer, so that its connection can be reused. */
const rest_of_answer_ms = 1_000;

class Dropped extends Error {}

/** Starts the request. Calls `onStatus` or `onError` once. After `abort`, calls neither and sends nothing more. */
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
    // undici can be stopped only after this event.
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
  // Bytes of an idle connection are not this request's answer.
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
