import ipaddr from "ipaddr.js";
import { isWithin, type NetworkList } from "../access/client-ip.ts";

/** Azure's host service, in a public block. */
const azure_wire_server = "168.63.129.16";

/** The only public IPv6 space; exceptions are below. */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Returns why the service may not connect ("is a loopback address"), or null. Permitted: global unicast and allowed
 * networks. IPv4 mapped into IPv6 counts as IPv4. Other embeddings (NAT64, 6to4, Teredo, -compatible, -translated) are
 * refused. `ip` may be any text.
 */
export function addressRefusal(ip: string, allowed: NetworkList = []): string | null {
  // The parser also accepts 1.2.3, 0x7f.1 and zone ids.
  const written = ipaddr.IPv4.isValidFourPartDecimal(ip) || ipaddr.IPv6.isValid(ip);
  if (!written || ip.includes("%")) return "is not an address";
  const address = ipaddr.process(ip);
  if (isWithin(address, allowed)) return null;
  const range = address.range();
  if (range === "unicast" || range === "as112" || range === "amt" || range === "as112v6") {
    if (address.toString() === azure_wire_server) return "is a cloud metadata address";
    if (address.kind() === "ipv6" && !(address as ipaddr.IPv6).match(globalUnicast)) return "is not a public address";
    return null;
  }
  return rangeText[range] ?? "is not a public address";
}

const rangeText: Readonly<Record<string, string>> = {
  unspecified: "is the unspecified address",
  loopback: "is a loopback address",
  private: "is a private address",
  uniqueLocal: "is a private address",
  linkLocal: "is a link-local address, where clouds keep their metadata",
  carrierGradeNat: "is an address inside a carrier's network",
  multicast: "is a multicast address",
  broadcast: "is the broadcast address",
};
