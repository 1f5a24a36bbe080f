import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

export type NetworkList = readonly (readonly [network: Address, prefix_bits: number])[];

/** Accepts CIDRs and single addresses. Throws Error otherwise. */
export function networkList(cidrs: readonly string[]): NetworkList {
  return cidrs.map((cidr) => {
    if (cidr.includes("/")) return ipaddr.parseCIDR(cidr);
    const address = ipaddr.parse(cidr);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  });
}

/** NAT64 prefixes of RFC 6052 and RFC 8215. */
const nat64 = networkList(["64:ff9b::/96", "64:ff9b:1::/48"]);

/**
 * Returns the peer, or the address that the last trusted proxy saw. Addresses further left in X-Forwarded-For are
 * unproven. `peer` null: not an internet socket; gives "unknown".
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
 * Returns the rate limit key: IPv4 as is, also when mapped into IPv6; IPv6 by its /64. Behind NAT64 the full address
 * counts, because it contains the client's IPv4 address.
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

/** False for another address family. */
export function isWithin(address: Address, networks: NetworkList): boolean {
  return networks.some(
    ([network, bits]) => network.kind() === address.kind() && address.match([network, bits] as never),
  );
}

/** False if the text is no address. */
export function isTrusted(ip: string, trust: NetworkList): boolean {
  const address = parsed(ip);
  return address !== null && isWithin(address, trust);
}

/** Converts IPv4-mapped addresses to IPv4 and drops zone ids. */
function parsed(ip: string): Address | null {
  try {
    return ipaddr.process(ip.replace(/%.*$/, ""));
  } catch {
    return null;
  }
}
