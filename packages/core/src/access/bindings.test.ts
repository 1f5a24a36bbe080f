import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { expect, test } from "vitest";
import { allowsAgent, allowsMembrane, allowsSource, bindingsOf, readCidr } from "./bindings.ts";

const none = { membrane_ids: null, agent_ids: null, source_cidrs: null, forbid_shadow: false };

test.each([
  ["10.1.0.0/16", "10.1.0.0/16"],
  ["10.0.0.7", "10.0.0.7/32"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["2001:DB8:0:0::/32", "2001:db8::/32"],
  ["2001:db8::1", "2001:db8::1/128"],
  ["::ffff:10.1.0.0/112", "10.1.0.0/16"],
  ["::ffff:10.0.0.7", "10.0.0.7/32"],
  ["::/0", "::/0"],
])("the network %s is kept as %s", (text, cidr) => {
  expect(readCidr(text)).toEqual({ cidr });
});

test.each([
  "",
  "office",
  "10.0.0.0/33",
  "10.0.0.0/-1",
  "10.0.0.0/08",
  "10.0.0.0/",
  "10.0.0/8",
  "10.1",
  "010.0.0.1",
  "0x0a.0.0.1",
  "167772161",
  "256.0.0.1",
  "10.0.0.7/8",
  "2001:db8::1/32",
  "2001:db8::/129",
  "fe80::1%eth0",
  "::ffff:10.0.0.0/80",
  " 10.0.0.0/8",
  "10.0.0.0/8,10.1.0.0/16",
])("%j is no network, and the problem says what to send", (text) => {
  expect(readCidr(text)).toEqual({ problem: expect.stringMatching(/^(Send|The address has bits)/) });
});

test("an address is allowed exactly if it is in one of the networks, also when it is mapped into IPv6", () => {
  const bindings = bindingsOf({ ...none, source_cidrs: ["10.1.0.0/16", "2001:db8::/32"] });
  for (const ip of ["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::7", "2001:db8::7%eth0"])
    expect(allowsSource(bindings, ip), ip).toBe(true);
  for (const ip of ["10.2.0.1", "::ffff:10.2.0.1", "2001:db9::1", "unknown", ""])
    expect(allowsSource(bindings, ip), ip).toBe(false);
});

test("the first address of a network is allowed and an address of another network is not", () => {
  const v4 = fc.tuple(fc.nat(0xffffffff), fc.integer({ min: 1, max: 32 }));
  fc.assert(
    fc.property(v4, ([number, bits]) => {
      const address = [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
      const network = ipaddr.IPv4.networkAddressFromCIDR(`${address}/${bits}`).toString();
      const bindings = bindingsOf({ ...none, source_cidrs: [`${network}/${bits}`] });
      const other = ipaddr.parse(network).toByteArray();
      const at = (bits - 1) >> 3;
      other[at] = (other[at] as number) ^ (1 << (7 - ((bits - 1) & 7)));
      expect(readCidr(`${network}/${bits}`)).toEqual({ cidr: `${network}/${bits}` });
      expect(allowsSource(bindings, address)).toBe(true);
      expect(allowsSource(bindings, other.join("."))).toBe(false);
    }),
  );
});

test("agents are compared without case and in compatibility form", () => {
  const bindings = bindingsOf({ ...none, agent_ids: ["Bot-ſ"] });
  for (const name of ["bot-s", "BOT-S", "ｂｏｔ-s"]) expect(allowsAgent(bindings, name, new Map()), name).toBe(true);
  for (const name of ["bot-s2", "bot", "bоt-s", ""]) expect(allowsAgent(bindings, name, new Map()), name).toBe(false);
});

test("an agent below a named one is allowed", () => {
  const bindings = bindingsOf({ ...none, agent_ids: ["Boss"] });
  const parents = new Map([
    ["worker", "lead"],
    ["lead", "boss"],
  ]);
  expect(["worker", "LEAD", "boss"].every((name) => allowsAgent(bindings, name, parents))).toBe(true);
  expect(allowsAgent(bindingsOf({ ...none, agent_ids: ["worker"] }), "lead", parents)).toBe(false);
});

test("a key without a restriction allows everything", () => {
  for (const bindings of [null, bindingsOf(none)]) {
    expect(allowsMembrane(bindings, "mem_1")).toBe(true);
    expect(allowsAgent(bindings, "a", new Map())).toBe(true);
    expect(allowsSource(bindings, "unknown")).toBe(true);
  }
  expect(allowsMembrane(bindingsOf({ ...none, membrane_ids: ["mem_1"] }), "mem_2")).toBe(false);
});
