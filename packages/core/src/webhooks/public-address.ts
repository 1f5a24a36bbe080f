/** Distinguishes public addresses from those inside a network. */
import ipaddr from "ipaddr.js";
import { isWithin, type NetworkList } from "../access/client-ip.ts";

/** Answers queries of the host itself on Azure. It is in a public block, so no general rule finds it. */
const azure_wire_server = "168.63.129.16";

/** The only IPv6 space that is assigned to the public network. Special ranges inside it are listed below. */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Returns why the service may not connect to this address, as half a sentence ("is a loopback address"). Null: it may,
 * because the address is global unicast or in an allowed network. IPv4 mapped into IPv6 is judged as its IPv4 address.
 * All other ways to embed IPv4 in IPv6 (NAT64, 6to4, Teredo, -compatible, -translated) are refused. `ip` is any text
 * from DNS or a URL. A text that is not an address is refused.
 */
export function addressRefusal(ip: string, allowed: NetworkList = []): string | null {
  // The parser also accepts 1.2.3 and 0x7f.1, and zone ids.
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
