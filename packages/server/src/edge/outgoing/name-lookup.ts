/**
 * Uses c-ares, because `dns.lookup` shares four threads with all other work: behind four password hashes it took 7 s.
 */
import { Resolver, lookup as systemLookup } from "node:dns/promises";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";

/** Rejects if the name has no address. */
export type ResolveName = (host: string) => Promise<readonly string[]>;

export interface NameLookupOptions {
  /** `address:port` each. Default: the machine's name servers. */
  readonly name_servers?: readonly string[];
  /** For names that name servers do not know. */
  readonly system?: ResolveName;
  /** Aborts lookups, because a silent name server would hold the thread for many seconds. */
  readonly signal?: AbortSignal;
}

/** So a backlog for one receiver does not flood the name server. */
const kept_ms = 1_000;
const kept_max = 1_000;
const try_ms = 2_000;
const tries = 2;
/** Of the system's four threads. */
const system_lookups_max = 2;

/** Uses the hosts file and search domains. */
export const lookupBySystem: ResolveName = async (host) =>
  (await systemLookup(host, { all: true })).map(({ address }) => address);

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
    // The system's lookup would wait, too, and hold a thread.
    const silent = error !== undefined && "code" in error && error.code === "ETIMEOUT";
    if (system !== undefined && !silent && signal?.aborted !== true) return places(system, host);
    throw withoutConnection(error ?? new Error(`${host} has no address`));
  };
}

/** Makes one lookup of a name at a time. Failures are not cached. */
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

/** c-ares uses this code for a missing name server. Here it would mean the receiver. */
function withoutConnection(error: Error): Error {
  if (!("code" in error) || error.code !== "ECONNREFUSED") return error;
  return Object.assign(new Error("no name server", { cause: error }), { code: "EAI_AGAIN" });
}
