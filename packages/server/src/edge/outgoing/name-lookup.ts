/**
 * Names of receivers to addresses, so that a slow name holds up its own deliveries only.
 *
 * c-ares, not `dns.lookup`: that one shares four threads with everything else, and took 7 s behind four password hashes
 * (measured); any number of c-ares lookups wait side by side on one socket. One name is asked for once at a time, however
 * many attempts want it.
 */
import { Resolver, lookup as systemLookup } from "node:dns/promises";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";

/** The addresses of a name; rejects when it has none. */
export type ResolveName = (host: string) => Promise<readonly string[]>;

/** Whom to ask. */
export interface NameLookupOptions {
  /** `address:port` each, in place of the machine's name servers. */
  readonly name_servers?: readonly string[];
  /** Asked when name servers know nothing of a name: names of the machine's own network, which only its system finds. */
  readonly system?: ResolveName;
  /** Gives up the lookups under way: a silent name server would hold the thread for many seconds yet. */
  readonly signal?: AbortSignal;
}

/** Attempts within a second share one answer: a burst to one receiver is no burst to the name server. */
const kept_ms = 1_000;
const kept_max = 1_000;
const try_ms = 2_000;
const tries = 2;
/** The system's lookups at once, of its four threads. */
const system_lookups_max = 2;

/** The machine's own way, hosts file and search domains included. */
export const lookupBySystem: ResolveName = async (host) =>
  (await systemLookup(host, { all: true })).map(({ address }) => address);

/** Asks name servers for both kinds of addresses. */
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
    // A name whose servers are silent would be silent to the system too, and hold one of its threads meanwhile.
    const silent = error !== undefined && "code" in error && error.code === "ETIMEOUT";
    if (system !== undefined && !silent && signal?.aborted !== true) return places(system, host);
    throw withoutConnection(error ?? new Error(`${host} has no address`));
  };
}

/** One lookup of a name at a time; its answer serves for a second more. A failure serves only those who waited for it. */
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

/** c-ares says so of a name server that is not there; of a receiver it would mean something else. */
function withoutConnection(error: Error): Error {
  if (!("code" in error) || error.code !== "ECONNREFUSED") return error;
  return Object.assign(new Error("no name server", { cause: error }), { code: "EAI_AGAIN" });
}
