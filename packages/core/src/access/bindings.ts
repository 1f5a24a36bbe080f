/** Restrictions of an API key (docs/decisions/0041-keys-that-bind.md). */
import { foldName, type KeyBindings } from "@countersign/contract";
import ipaddr from "ipaddr.js";
import { type Parents, registeredAbove } from "./ancestors.ts";
import { isTrusted, type NetworkList, networkList } from "./client-ip.ts";

/** Null: unrestricted. */
export interface Bindings {
  readonly membranes: ReadonlySet<string> | null;
  /** Folded names. */
  readonly agents: ReadonlySet<string> | null;
  readonly networks: NetworkList | null;
  readonly forbid_shadow: boolean;
}

/** Returns null for an unrestricted key. */
export function bindingsOf(stored: KeyBindings | null): Bindings | null {
  if (stored === null) return null;
  const { membrane_ids, agent_ids, source_cidrs, forbid_shadow } = stored;
  return {
    membranes: membrane_ids === null ? null : new Set(membrane_ids),
    agents: agent_ids === null ? null : new Set(agent_ids.map(foldName)),
    networks: source_cidrs === null ? null : networkList(source_cidrs),
    forbid_shadow,
  };
}

export function allowsMembrane(bindings: Bindings | null, membrane_id: string): boolean {
  return bindings?.membranes?.has(membrane_id) ?? true;
}

/** Allows the named agents in any spelling, and agents registered below them. */
export function allowsAgent(bindings: Bindings | null, agent_id: string, parents: Parents): boolean {
  const agents = bindings?.agents ?? null;
  return (
    agents === null || [agent_id, ...registeredAbove(parents, agent_id)].some((each) => agents.has(foldName(each)))
  );
}

export function allowsSource(bindings: Bindings | null, client_ip: string): boolean {
  const networks = bindings?.networks ?? null;
  return networks === null || isTrusted(client_ip, networks);
}

const cidrForm = /^([\d.]+|[\da-f:.]+:[\da-f:.]*)(?:\/(0|[1-9]\d{0,2}))?$/i;

/**
 * Normalizes a network: `10.0.0.7` becomes `10.0.0.7/32`, and IPv4 mapped into IPv6 becomes IPv4. Else returns advice.
 */
export function readCidr(text: string): { readonly cidr: string } | { readonly problem: string } {
  const example = "Send an IPv4 or IPv6 network such as 10.1.0.0/16 or 2001:db8::/32, or one address.";
  const [, written = "", prefix] = cidrForm.exec(text) ?? [];
  const is_v4 = ipaddr.IPv4.isValidFourPartDecimal(written);
  if (!is_v4 && !(written.includes(":") && ipaddr.IPv6.isValid(written))) return { problem: example };
  const address = ipaddr.parse(written);
  const bits_max = is_v4 ? 32 : 128;
  const bits = prefix === undefined ? bits_max : Number(prefix);
  if (bits > bits_max) return { problem: `Send a prefix of at most ${bits_max} bits.` };
  const networks = is_v4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const network = networks.networkAddressFromCIDR(`${written}/${bits}`).toString();
  if (network !== address.toString())
    return {
      problem: `The address has bits after its prefix. Send ${network}/${bits} for the network, or the address alone.`,
    };
  if (address.kind() === "ipv6" && bits >= 96 && (address as ipaddr.IPv6).isIPv4MappedAddress())
    return { cidr: `${(address as ipaddr.IPv6).toIPv4Address().toString()}/${bits - 96}` };
  return { cidr: `${network}/${bits}` };
}
