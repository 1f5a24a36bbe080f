import { describe, expect, test } from "vitest";
import { clientIp, clientNetwork, isLoopback, networkList } from "./client-ip.ts";

const trust = networkList(["10.0.0.0/8", "fd00::/8", "192.0.2.7"]);

describe("clientIp", () => {
  test.each([
    ["nothing forwarded", "10.0.0.1", undefined, "10.0.0.1"],
    ["a peer that is no proxy is the client, whatever it claims", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["a proxy names the client", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["what the client itself wrote does not count", "10.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"],
    ["a chain of proxies", "10.0.0.1", "198.51.100.1, 192.0.2.7, fd00::5", "198.51.100.1"],
    ["all hops are proxies: the farthest", "10.0.0.1", "10.9.9.9, 10.0.0.2", "10.9.9.9"],
    ["a hop that is no address ends the walk", "10.0.0.1", "198.51.100.1, unknown, 10.0.0.2", "10.0.0.2"],
    ["empty header", "10.0.0.1", "", "10.0.0.1"],
    ["a mapped proxy address", "::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["an IPv4 hop with a port", "10.0.0.1", "198.51.100.1:4711", "198.51.100.1"],
    ["an IPv6 hop with a port", "10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"],
  ])("%s", (_name, peer, forwarded, expected) => {
    expect(clientIp(peer, forwarded, trust)).toBe(expected);
  });

  test("without declared proxies the header never counts", () => {
    expect(clientIp("127.0.0.1", "198.51.100.1", networkList([]))).toBe("127.0.0.1");
  });

  test("a socket without an address gives unknown", () => {
    expect(clientIp(null, "198.51.100.1", trust)).toBe("unknown");
  });
});

test("all addresses of an IPv6 /64 share one budget", () => {
  expect(clientNetwork("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2::/64");
  expect(clientNetwork("2001:0DB8:1:2::ffff")).toBe("2001:db8:1:2::/64");
  expect(clientNetwork("2001:db8:1:3::1")).toBe("2001:db8:1:3::/64");
  expect(clientNetwork("fe80::1%eth0")).toBe("fe80:0:0:0::/64");
});

test("clients behind NAT64 have a budget for each IPv4 address", () => {
  expect(clientNetwork("64:ff9b::198.51.100.1")).toBe("64:ff9b::c633:6401");
  expect(clientNetwork("64:ff9b::198.51.100.2")).toBe("64:ff9b::c633:6402");
  expect(clientNetwork("64:ff9b:1:abcd::198.51.100.1")).toBe("64:ff9b:1:abcd::c633:6401");
});

test("an IPv4 client is one address, in either spelling", () => {
  expect(clientNetwork("198.51.100.1")).toBe("198.51.100.1");
  expect(clientNetwork("::ffff:198.51.100.1")).toBe("198.51.100.1");
  expect(clientNetwork("unknown")).toBe("unknown");
});

test.each([
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["10.0.0.1", false],
  ["::ffff:10.0.0.1", false],
  ["unknown", false],
])("isLoopback(%s) is %s", (ip, expected) => {
  expect(isLoopback(ip)).toBe(expected);
});

test("networkList refuses invalid networks", () => {
  expect(() => networkList(["example.com"])).toThrow();
  expect(() => networkList(["10.0.0.0/33"])).toThrow();
});
