/**
 * Connects to the addresses of a URL, and judges each address first.
 *
 * The judged address and the dialled address are the same: each connection is pinned to the judged addresses, so a
 * later DNS answer changes nothing. Targets (per URL) and pools (per origin and addresses) are kept for later requests.
 */
import { isIP, type LookupFunction, type Socket } from "node:net";
import { checkWebhookUrl, refusedAddresses, type WebhookUrlRules } from "@countersign/core";
import { LRUCache } from "lru-cache";
import { buildConnector, Client, type Dispatcher, errors, Pool } from "undici";
import { AttemptFailure } from "./http-out-failures.ts";

/** The verdict on the text of a URL, and the latest verdict on its addresses. */
export interface Target {
  readonly verdict: ReturnType<typeof checkWebhookUrl>;
  readonly origin: string;
  readonly path: string;
  /** Lookups within one second return the same list, which is not judged again. */
  latest: Judged;
}

interface Judged {
  readonly addresses: readonly string[];
  readonly refused: string | null;
  /** The addresses in a fixed order, as the key of the pool. */
  readonly key: string;
}

/** A request with a listener for the bytes of its answer. The listener gets them before the HTTP parser does. */
export interface OverheardRequest extends Dispatcher.DispatchOptions {
  readonly onBytes?: (bytes: Buffer) => unknown;
}

const pools_max = 1_000;
/** The largest header of an answer that the HTTP parser accepts. */
const head_bytes_max = 65_536;

/** The connections of one client. */
export class GuardedConnections {
  readonly #rules: WebhookUrlRules;
  readonly #ca: string | undefined;
  readonly #making = new Set<Socket>();
  readonly #targets = new LRUCache<string, Target>({ max: pools_max });
  readonly #pools = new LRUCache<string, Pool>({
    max: pools_max,
    dispose: (pool) => void pool.close().catch(() => undefined),
  });

  constructor(rules: WebhookUrlRules, ca: string | undefined) {
    this.#rules = rules;
    this.#ca = ca;
  }

  targetOf(url: string): Target {
    const known = this.#targets.get(url);
    if (known !== undefined) return known;
    const verdict = checkWebhookUrl(url, this.#rules);
    const { origin, pathname, search } =
      "refused" in verdict ? { origin: "", pathname: "", search: "" } : new URL(verdict.href);
    const target = { verdict, origin, path: pathname + search, latest: { addresses: [], refused: null, key: "" } };
    this.#targets.set(url, target);
    return target;
  }

  /**
   * Returns the pool for these addresses. Throws `AttemptFailure` if the URL or one of the addresses is refused. A
   * connection that is not open within `connect_ms` is closed, even if no request waits for it any more.
   */
  poolFor(target: Target, addresses: readonly string[], connect_ms: number): Pool {
    if ("refused" in target.verdict) throw new AttemptFailure("refused", { sentence: target.verdict.refused });
    const judged = this.#judge(target, target.verdict.host, addresses);
    if (judged.refused !== null) throw new AttemptFailure("refused", { sentence: judged.refused });
    return this.#poolOf(target.origin, judged, connect_ms);
  }

  /** Closes every connection, including those that are not open yet. */
  async close(): Promise<void> {
    for (const socket of this.#making) socket.destroy(new errors.SocketError("closed"));
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
  }

  /** Judges each address. One refused address refuses all. */
  #judge(target: Target, host: string, addresses: readonly string[]): Judged {
    if (target.latest.addresses !== addresses) {
      const key = [target.origin, ...[...addresses].sort()].join(" ");
      target.latest = { addresses, refused: refusedAddresses(host, addresses, this.#rules), key };
    }
    return target.latest;
  }

  #poolOf(origin: string, { addresses, key: addresses_key }: Judged, connect_ms: number): Pool {
    const key = `${connect_ms} ${addresses_key}`;
    const known = this.#pools.get(key);
    if (known !== undefined) return known;
    const options = {
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
      timeout: connect_ms,
      lookup: pinnedTo(addresses),
      autoSelectFamily: true,
    } as buildConnector.BuildOptions;
    // No limit on connections: receivers of many organizations may share an origin, and one that hangs would block all of them.
    // The senders limit how many requests are in flight.
    const connect = connector(options, this.#making);
    const pool = new Pool(origin, {
      factory: (to, settings) => overheardClient(to, settings, connect),
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: head_bytes_max,
    });
    this.#pools.set(key, pool);
    return pool;
  }
}

/** Returns the name to look up; null if the URL contains an address, or is refused. */
export function nameIn({ verdict }: Target): string | null {
  return "refused" in verdict || verdict.literal ? null : verdict.host;
}

/**
 * Answers every lookup of a connection with the judged addresses. The answer comes in the next tick. In the same tick,
 * a failing connection (no route to an IPv6 address) would emit its error before a listener exists, which ended the
 * process.
 */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all: wantsAll }, callback) => {
    const [first] = all;
    process.nextTick(() => {
      if (first === undefined) callback(new Error("an address literal needs no lookup"), "");
      else if (wantsAll) callback(null, all);
      else callback(null, first.address, first.family);
    });
  };
}

/**
 * Makes connections that an abort ends permanently. After an abort, undici itself connects once more although the
 * request is gone: a receiver that never answered saw a second, empty connection.
 *
 * `making` holds the sockets that are not connected yet, because undici forgets them when its pool is destroyed. One
 * such socket, silent in the handshake, kept a stopping thread alive for ten seconds.
 */
function connector(options: buildConnector.BuildOptions, making: Set<Socket>): buildConnector.connector {
  // The types of undici do not say that the call returns the socket at once.
  const connect = buildConnector(options) as (...call: Parameters<buildConnector.connector>) => Socket;
  return (target, callback) => {
    const begun = connect(target, (...made) => {
      making.delete(begun);
      const [error, socket] = made;
      if (error === null) {
        const destroy = socket.destroy.bind(socket);
        socket.destroy = (reason) => {
          const aborted = reason instanceof errors.InformationalError && reason.message === "aborted";
          return destroy(aborted ? new errors.SocketError("aborted") : reason);
        };
      }
      callback(...made);
    });
    making.add(begun);
  };
}

/**
 * Returns a client with one connection, which serves one request at a time. The request's `onBytes` gets the bytes that
 * the connection reads.
 */
function overheardClient(origin: URL, settings: Client.Options, connect: buildConnector.connector): Client {
  let onBytes: OverheardRequest["onBytes"];
  const client = new Client(origin, {
    ...settings,
    connect: (target, callback) =>
      connect(target, (...made) => {
        const [error, socket] = made;
        if (error === null) {
          const read = socket.read.bind(socket);
          socket.read = (size) => {
            const bytes: Buffer | null = read(size);
            if (bytes !== null) onBytes?.(bytes);
            return bytes;
          };
        }
        callback(...made);
      }),
  });
  const dispatch = client.dispatch.bind(client);
  client.dispatch = (request: OverheardRequest, handler) => {
    onBytes = request.onBytes;
    return dispatch(request, handler);
  };
  return client;
}
