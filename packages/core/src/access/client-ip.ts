/** Whose request it is when no key says so: the client's address, as far as the socket and declared proxies prove it. */
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Networks of one kind: the proxies whose X-Forwarded-For is believed, for example. */
export type NetworkList = readonly (readonly [network: Address, prefix_bits: number])[];

/** Reads CIDRs (`10.0.0.0/8`, `fd00::/8`) or single addresses. Throws Error on anything else. */
export function networkList(cidrs: readonly string[]): NetworkList {
  return cidrs.map((cidr) => {
    if (cidr.includes("/")) return ipaddr.parseCIDR(cidr);
    const address = ipaddr.parse(cidr);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  });
}

/** The prefix of NAT64 for everybody (RFC 6052), and the one that networks choose theirs from (RFC 8215). */
const nat64 = networkList(["64:ff9b::/96", "64:ff9b:1::/48"]);

/**
 * The client's address: the peer of the socket, or, while the hops to the right are trusted proxies, the one that the
 * last trusted proxy saw. What stands further left was written by strangers and proves nothing.
 * `peer` null: not an internet socket; gives "unknown".
 */
export function clientIp(peer: string | null, forwarded_for: string | undefined, trust: NetworkList): string {
  if (peer === null) return "unknown";
  if (trust.length === 0 || forwarded_for === undefined) return peer;
  const hops = forwarded_for.split(",");
  let client = peer;
  while (isTrusted(client, trust)) {
    const hop = hops
      .pop()
      ?.trim()
      .replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, "$1$3");
    if (hop === undefined || !ipaddr.isValid(hop)) return client;
    client = hop;
  }
  return client;
}

/**
 * Returns the name under which an address has its budget: IPv4 as it is, also when mapped into IPv6; IPv6 by its /64. Behind NAT64
 * the last 32 bits are a client's IPv4 address, so each address has a budget of its own there.
 */
export function clientNetwork(ip: string): string {
  const address = parsed(ip);
  if (address === null) return ip;
  if (address.kind() === "ipv4" || isWithin(address, nat64)) return address.toString();
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

/** True for 127.0.0.0/8 and ::1, also when mapped into IPv6. */
export function isLoopback(ip: string): boolean {
  return parsed(ip)?.range() === "loopback";
}

/** Whether an address is in one of the networks; one of another kind is in none. */
export function isWithin(address: Address, networks: NetworkList): boolean {
  return networks.some(
    ([network, bits]) => network.kind() === address.kind() && address.match([network, bits] as never),
  );
}

/** Whether an address, given as text, is one of the declared proxies; what is no address is none. */
export function isTrusted(ip: string, trust: NetworkList): boolean {
  const address = parsed(ip);
  return address !== null && isWithin(address, trust);
}

/** IPv4-mapped addresses (what a dual-stack socket shows) become IPv4; zone ids are dropped; null: not an address. */
function parsed(ip: string): Address | null {
  try {
    return ipaddr.process(ip.replace(/%.*$/, ""));
  } catch {
    return null;
  }
}
