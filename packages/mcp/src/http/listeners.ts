/** Streams of the server's messages that answer no request. */
import type { ClientStream } from "./client-stream.ts";
import type { ClientRequest } from "./exchanges.ts";
import type { Failure, Refusal, ServerLink } from "./server-link.ts";

interface ListenersDeps {
  readonly link: ServerLink;
  readonly take: (request: ClientRequest, line: string) => void;
  readonly accepted: (request: ClientRequest) => void;
  readonly refused: (request: ClientRequest, why: string, refusal: Refusal | null) => void;
  /** Keeps an ended stream for a client that comes back. */
  readonly keep: (stream: ClientStream) => void;
}

interface Listening {
  /** The id of the server's last event. */
  after: string | undefined;
  /** The server's stream is open. */
  is_open: boolean;
}

export class Listeners {
  readonly #deps: ListenersDeps;
  readonly #open = new Map<ClientStream, Listening>();

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
  }

  streams(): ClientStream[] {
    return [...this.#open.keys()];
  }

  /** Returns the stream for a message that belongs to no request. */
  connected(): ClientStream | undefined {
    return this.streams().find(({ is_connected }) => is_connected);
  }

  begin(request: ClientRequest): void {
    // A client that begins a new stream does not come back for old ones.
    for (const old of this.streams()) if (!old.is_connected) this.#end(old);
    this.#open.set(request.stream, { after: undefined, is_open: false });
    this.#listen(request);
  }

  /** Continues the stream of a client that came back. */
  resume(request: ClientRequest): void {
    if (this.#open.get(request.stream)?.is_open === false) this.#listen(request);
    else request.stream.start();
  }

  end(): void {
    for (const stream of this.streams()) stream.end();
  }

  #listen(request: ClientRequest): void {
    const { stream, headers } = request;
    const { link, take, accepted, refused } = this.#deps;
    const listening = this.#open.get(stream);
    if (listening === undefined) return;
    listening.is_open = true;
    const closing = new AbortController();
    stream.onClose(() => closing.abort());
    const receiver = {
      headers,
      accepted: () => {
        accepted(request);
        stream.start();
      },
      take: (line: string) => {
        take(request, line);
        return stream.drained();
      },
      failed: ({ why, refusal }: Failure) => {
        refused(request, why, refusal);
        this.#end(stream);
      },
    };
    void link.listen(receiver, closing.signal, listening.after).then((after) => {
      Object.assign(listening, { after, is_open: false });
      // The client comes back with the id of its last event. Then the server's stream continues, too.
      stream.disconnect();
    });
  }

  #end(stream: ClientStream): void {
    this.#open.delete(stream);
    stream.end();
    this.#deps.keep(stream);
  }
}
