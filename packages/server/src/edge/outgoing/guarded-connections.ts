/**
 * Judges the addresses of a URL and pins each connection to them, so a later DNS answer changes nothing. Targets (per
 * URL) and pools (per origin and addresses) are cached.
 */
import { isIP, type LookupFunction, type Socket } from "node:net";
import { checkWebhookUrl, refusedAddresses, type WebhookUrlRules } from "@countersign/core";
import { LRUCache } from "lru-cache";
import { buildConnector, Client, type Dispatcher, errors, Pool } from "undici";
import { AttemptFailure } from "./http-out-failures.ts";

export interface Target {
  readonly verdict: ReturnType<typeof checkWebhookUrl>;
  readonly origin: string;
  readonly path: string;
  /** Lookups within one second return the same list. */
  latest: Judged;
}

interface Judged {
  readonly addresses: readonly string[];
  readonly refused: string | null;
  /** The sorted addresses: the pool's key. */
  readonly key: string;
}

/** `onBytes` gets the bytes of the answer before the HTTP parser does. */
export interface OverheardRequest extends Dispatcher.DispatchOptions {
  readonly onBytes?: (bytes: Buffer) => unknown;
}

const pools_max = 1_000;
const head_bytes_max = 65_536;

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
   * Returns the pool for these addresses. Throws `AttemptFailure` if the URL or an address is refused. A connection
   * that is not open within `connect_ms` is closed.
   */
  poolFor(target: Target, addresses: readonly string[], connect_ms: number): Pool {
    if ("refused" in target.verdict) throw new AttemptFailure("refused", { sentence: target.verdict.refused });
    const judged = this.#judge(target, target.verdict.host, addresses);
    if (judged.refused !== null) throw new AttemptFailure("refused", { sentence: judged.refused });
    return this.#poolOf(target.origin, judged, connect_ms);
  }

  /** Also closes connections that are not open yet. */
  async close(): Promise<void> {
    for (const socket of this.#making) socket.destroy(new errors.SocketError("closed"));
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
  }

  /** One refused address refuses all. */
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
    // No limit on connections, because a hanging receiver would block others of the same origin.
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

/** Null: the URL contains an address, or is refused. */
export function nameIn({ verdict }: Target): string | null {
  return "refused" in verdict || verdict.literal ? null : verdict.host;
}

/**
 * Answers in the next tick. In the same tick, a failing connection would emit its error before a listener exists, and
 * end the process.
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
 * Makes connections that an abort ends. After an abort, undici alone would connect again. `making` holds sockets that
 * are not connected yet, because a destroyed pool forgets them: one kept a stopping thread alive for ten seconds.
 */
function connector(options: buildConnector.BuildOptions, making: Set<Socket>): buildConnector.connector {
  // undici's types omit that the call returns the socket at once.
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

/** Returns a client with one connection and one request at a time. */
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
