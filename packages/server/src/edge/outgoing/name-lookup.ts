/**
 * Looks up the addresses of receivers, so that a slow name delays only its own deliveries.
 *
 * Uses c-ares instead of `dns.lookup`, which shares four threads with all other work. Behind four password hashes it
 * took 7 s (measured). Any number of c-ares lookups wait on one socket. Concurrent attempts for one name share one
 * lookup.
 */
import { Resolver, lookup as systemLookup } from "node:dns/promises";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";

/** Returns the addresses of a name. Rejects if it has none. */
export type ResolveName = (host: string) => Promise<readonly string[]>;

/** The servers to ask. */
export interface NameLookupOptions {
  /** `address:port` each. Replaces the machine's name servers. */
  readonly name_servers?: readonly string[];
  /** Asked if name servers do not know a name: only the system finds names of the machine's own network. */
  readonly system?: ResolveName;
  /** Aborts running lookups. Otherwise a silent name server would hold the thread for many seconds. */
  readonly signal?: AbortSignal;
}

/** Attempts within a second share one answer, so a backlog for one receiver does not flood the name server. */
const kept_ms = 1_000;
const kept_max = 1_000;
const try_ms = 2_000;
const tries = 2;
/** At most this many of the system's four threads run lookups at once. */
const system_lookups_max = 2;

/** Looks up a name as the machine does, with hosts file and search domains. */
export const lookupBySystem: ResolveName = async (host) =>
  (await systemLookup(host, { all: true })).map(({ address }) => address);

/** Creates a function that asks name servers for both kinds of addresses. */
export function createNameLookup({ name_servers, system, signal }: NameLookupOptions): ResolveName {
  const resolver = new Resolver({ timeout: try_ms, tries });
  if (name_servers !== undefined) resolver.setServers(name_servers);
  signal?.addEventListener("abort", () => resolver.cancel());
  const places = pLimit(system_lookups_max);
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const [error] = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as Error] : []));
    // If the name servers are silent, the system would wait for them, too, and hold one of its threads.
    const silent = error !== undefined && "code" in error && error.code === "ETIMEOUT";
    if (system !== undefined && !silent && signal?.aborted !== true) return places(system, host);
    throw withoutConnection(error ?? new Error(`${host} has no address`));
  };
}

/**
 * Makes one lookup of a name at a time. Its answer is reused for one second. A failure goes only to the callers that
 * waited for it.
 */
export function sharedLookups(resolve: ResolveName): ResolveName {
  const kept = new LRUCache<string, readonly string[]>({ max: kept_max, ttl: kept_ms });
  const under_way = new Map<string, Promise<readonly string[]>>();
  return async (host) => {
    const known = kept.get(host) ?? under_way.get(host);
    if (known !== undefined) return known;
    const looking = resolve(host)
      .then((addresses) => {
        kept.set(host, addresses);
        return addresses;
      })
      .finally(() => under_way.delete(host));
    under_way.set(host, looking);
    return looking;
  };
}

/**
 * Returns the error without the code of a refused connection. c-ares uses this code for a missing name server, but here
 * it would mean the receiver.
 */
function withoutConnection(error: Error): Error {
  if (!("code" in error) || error.code !== "ECONNREFUSED") return error;
  return Object.assign(new Error("no name server", { cause: error }), { code: "EAI_AGAIN" });
}
