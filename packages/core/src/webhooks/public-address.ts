/** Which addresses of the network are anybody's, and which are somebody's inside. Source: api.md §8. */
import ipaddr from "ipaddr.js";
import { isWithin, type NetworkList } from "../access/client-ip.ts";

/** Answers queries of the host itself on Azure; lies in a public block, so no general rule finds it. */
const azure_wire_server = "168.63.129.16";

/** The only IPv6 space that is given out for the public network; everything special inside it is told apart by range. */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Why the service may not connect to this address, as half a sentence ("is a loopback address"), or null when it may: it
 * is global unicast, or in one of the allowed networks. IPv4 mapped into IPv6 is judged as the IPv4 address that it is;
 * every other way of hiding one in the other (NAT64, 6to4, Teredo, -compatible, -translated) is refused.
 * `ip` is any text that DNS or a URL gives; what is no address is refused.
 */
export function addressRefusal(ip: string, allowed: NetworkList = []): string | null {
  // The parser takes 1.2.3 and 0x7f.1 too, and zone ids.
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
