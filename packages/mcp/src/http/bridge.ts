/** Governs a remote server for a client on standard streams. */
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { createGovernor, type GovernorOptions } from "../governor.ts";
import type { Message } from "../protocol/messages.ts";
import { drained, pass } from "../stdio/govern-process.ts";
import { withoutFaultyTools } from "./header-annotations.ts";
import { revisionOf } from "./mirrored-headers.ts";
import { Remote } from "./remote.ts";
import { type Failure, failedAnswer, type Receiver, ServerLink } from "./server-link.ts";

export interface BridgeOptions extends Omit<GovernorOptions, "toServer" | "toClient"> {
  /** The server's endpoint. */
  readonly server_url: URL;
  /** Go to the server with each request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly input: Readable;
  readonly output: Writable;
  readonly signal: AbortSignal;
  /** At the end, calls have this time to be recorded. */
  readonly patience_ms: number;
}

/** Unread bytes that the bridge buffers for a slow reader. */
const ahead_bytes_max = 16 * 1_048_576;
/** Between two streams of the server's own messages. */
const listen_again_ms = 1_000;
/** Streams in a row that the server refused. */
const refusals_max = 5;

/** Serves until the client ends or the signal. Resolves to the exit code: 1 if the server ended the session. */
export async function bridgeToServer(options: BridgeOptions): Promise<number> {
  const { server_url, headers, input, output, signal, patience_ms, note } = options;
  const remote = new Remote(server_url, headers);
  const link = new ServerLink(remote);
  const ending = new AbortController();
  let is_session_lost = false;
  output.on("error", () => input.destroy());
  const receiverOf = (message: Message): Receiver => ({
    headers: {},
    accepted: () => undefined,
    take: (line) => {
      const is_list = message.method === "tools/list" && revisionOf(message) !== null;
      governor.fromServer(is_list ? withoutFaultyTools(line, note) : line);
      if (output.writableLength > ahead_bytes_max) return drained(output);
    },
    failed: (failure) => {
      const { id, method } = message;
      const why = withHint(failure);
      note(why);
      if (id !== undefined && method !== undefined)
        governor.fromServer(failedAnswer({ ...failure, why }, { id, method }));
      if (failure.refusal?.status !== 404 || !link.has_session) return;
      is_session_lost = true;
      // After the answer to the client.
      setImmediate(() => input.destroy());
    },
  });
  // Later messages wait for notifications and answers, because several connections keep no order.
  let in_order = Promise.resolve();
  const toServer = (line: string): void => {
    const message = JSON.parse(line) as Message;
    const sent = in_order.then(() => link.post(line, receiverOf(message)));
    if (message.id === undefined || message.method === undefined) in_order = sent;
    if (message.method === "notifications/initialized")
      void sent.then(() => listen(link, receiverOf(message), ending.signal));
  };
  const governor = createGovernor({
    ...options,
    toServer,
    toClient: (line) => void output.write(`${line}\n`),
  });
  const stop = (): void => void input.destroy();
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  try {
    await pass(input, governor.fromClient, [output], ahead_bytes_max);
    const patience = delay(patience_ms, undefined, { signal: ending.signal }).catch(() => undefined);
    await Promise.race([governor.end(), patience]);
  } finally {
    ending.abort();
    signal.removeEventListener("abort", stop);
    await link.end({});
    remote.close();
  }
  return is_session_lost ? 1 : 0;
}

/** Reads the server's own messages, stream after stream. */
async function listen(link: ServerLink, receiver: Receiver, signal: AbortSignal): Promise<void> {
  let after: string | undefined;
  for (let refusals = 0; refusals < refusals_max && !signal.aborted; ) {
    refusals += 1;
    let is_refused = false;
    const accepted = (): void => {
      refusals = 0;
    };
    // Servers need not have such a stream.
    const failed = ({ refusal }: Failure): void => {
      is_refused = refusal !== null && refusal.status < 500;
    };
    after = await link.listen({ ...receiver, accepted, failed }, signal, after);
    if (is_refused) return;
    await delay(listen_again_ms, undefined, { signal }).catch(() => undefined);
  }
}

function withHint({ why, refusal }: Failure): string {
  const is_unknown = refusal?.status === 401 || refusal?.status === 403;
  return is_unknown ? `${why}. Give the server's credentials with --header-env.` : why;
}
