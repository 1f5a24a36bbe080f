import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../../../scripts/property-runs.ts";
import { networkList } from "../access/client-ip.ts";
import { addressRefusal } from "./public-address.ts";
import { checkWebhookUrl, publicHttpsOnly, refusedAddresses } from "./webhook-url.ts";

const data = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../../test/data/${name}.json`, import.meta.url), "utf8"));
const urls: { url: string; expect: "accept" | "refuse"; why: string }[] = data("webhook-urls");
const names: { url: string; expect: string; hard: boolean; reason: string; stage: string; dns?: string[][] }[] =
  data("webhook-dns-and-redirects");

const verdict = (url: string, rules = publicHttpsOnly) => ("href" in checkWebhookUrl(url, rules) ? "accept" : "refuse");

describe("checkWebhookUrl", () => {
  test.each(urls)("$expect $url: $why", ({ url, expect: expected }) => {
    expect(verdict(url)).toBe(expected);
  });

  test.each([
    ["an empty userinfo, which the parser drops", "https://@hooks.example.com/", "refuse"],
    ["userinfo behind a backslash", "https://a\\b@hooks.example.com/", "refuse"],
    ["a tab that the parser would drop", "https://hooks.exam\tple.com/", "refuse"],
    ["a new line at the end", "https://hooks.example.com/\n", "refuse"],
    ["a space at the end", "https://hooks.example.com/ ", "refuse"],
    ["a space inside the path, which is percent-encoded", "https://hooks.example.com/a b", "accept"],
    ["upper case", "HTTPS://HOOKS.EXAMPLE.COM/", "accept"],
    ["no slashes", "https:hooks.example.com/", "refuse"],
    ["port 0", "https://hooks.example.com:0/", "refuse"],
    ["a mail port", "https://hooks.example.com:25/", "refuse"],
    ["an ordinary port", "https://hooks.example.com:8443/", "accept"],
    ["a name under svc", "https://receiver.team.svc/", "refuse"],
    ["a name under cluster.local", "https://receiver.team.svc.cluster.local/", "refuse"],
    ["a name that only ends alike", "https://notlocal/", "refuse"],
    ["a name whose last label only ends alike", "https://hooks.mylocal/", "accept"],
    ["a mapped private address", "https://[::ffff:a00:1]/", "refuse"],
    ["a NAT64 address", "https://[64:ff9b::808:808]/", "refuse"],
    ["a translated address", "https://[::ffff:0:808:808]/", "refuse"],
    ["a local name with two dots at its end", "https://localhost../", "refuse"],
    ["a metadata name with two dots at its end", "https://metadata.google.internal../", "refuse"],
    ["an address with two dots at its end", "https://127.0.0.1../", "refuse"],
    ["an empty label", "https://hooks..example.com/", "refuse"],
    ["an empty first label", "https://.example.com/", "refuse"],
    ["a wildcard", "https://*.example.com/", "refuse"],
    ["a template that was not filled in", "https://{host}.example.com/", "refuse"],
    ["several hosts", "https://hooks.example.com,127.0.0.1/", "refuse"],
    ["a label of 63 characters", `https://${"a".repeat(63)}.example.com/`, "accept"],
    ["a label of 64 characters", `https://${"a".repeat(64)}.example.com/`, "refuse"],
    ["a name of 253 characters", `https://${"a.".repeat(125)}com/`, "accept"],
    ["a name of 253 characters and its final dot", `https://${"a.".repeat(125)}com./`, "accept"],
    ["a name of 254 characters", `https://${"a.".repeat(125)}comm/`, "refuse"],
    ["an underscore", "https://my_hooks.example.com/", "accept"],
    ["a name in another script", "https://b\u00fccher.example.com/", "accept"],
  ])("%s: %s is %sed", (_title, url, expected) => {
    expect(verdict(url)).toBe(expected);
  });

  test("2,048 characters after normalising are accepted and one more refused", () => {
    const base = "https://hooks.example.com/";
    expect(verdict(base + "x".repeat(2_048 - base.length))).toBe("accept");
    expect(verdict(base + "x".repeat(2_049 - base.length))).toBe("refuse");
    expect(verdict(base + "é".repeat(400))).toBe("refuse");
  });

  test("an accepted URL is stored as the parser's own text, and that text is accepted unchanged", () => {
    for (const { url } of urls) {
      const first = checkWebhookUrl(url);
      if (!("href" in first)) continue;
      expect(first.href).toBe(new URL(url).href);
      expect(checkWebhookUrl(first.href)).toEqual(first);
    }
  });

  test("every refusal is a sentence", () => {
    for (const { url } of urls) {
      const result = checkWebhookUrl(url);
      if ("refused" in result) expect(result.refused).toMatch(/^\S.*\.$/);
    }
  });

  test("never throws, for any text", () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter }),
      // Not fc.webUrl(), whose first use takes a second of CPU time.
      fc.tuple(fc.domain(), fc.string()).map(([host, rest]) => `https://${host}/${rest}`),
      fc.string().map((rest) => `https://${rest}`),
    );
    fc.assert(fc.property(text, (url) => void checkWebhookUrl(url)));
  });

  test("an operator's settings permit plain http, private networks and their names, and nothing else", () => {
    const rules = { allow_http: true, allow_networks: networkList(["127.0.0.0/8", "fd00::/8"]) };
    expect(verdict("http://127.0.0.1:8080/hook", rules)).toBe("accept");
    expect(verdict("http://localhost:8080/hook", rules)).toBe("accept");
    expect(verdict("https://[fd00::1]/hook", rules)).toBe("accept");
    expect(verdict("http://10.0.0.1/hook", rules)).toBe("refuse");
    expect(verdict("http://169.254.169.254/hook", rules)).toBe("refuse");
    expect(verdict("ftp://127.0.0.1/hook", rules)).toBe("refuse");
  });

  test.each([
    "metadata.google.internal",
    "METADATA.google.internal.",
    "metadata.goog",
    "a.metadata.goog",
    "instance-data",
  ])("names of cloud metadata are refused even if private networks are allowed: %s", (host) => {
    const rules = { allow_http: true, allow_networks: networkList(["0.0.0.0/0"]) };
    expect(verdict(`http://${host}/hook`, rules)).toBe("refuse");
    expect(verdict(`https://${host}/hook`)).toBe("refuse");
  });
});

describe("checkWebhookUrl of a name that never resolves", () => {
  test.each(["hooks.onion", "HOOKS.example.Onion.", "hooks.alt"])("refuses it with any settings: %s", (host) => {
    const rules = { allow_http: true, allow_networks: networkList(["0.0.0.0/0", "::/0"]) };
    const refused = expect.stringMatching(
      /^Names under (onion|alt) have no address, because they are not part of DNS\.$/,
    );
    expect(checkWebhookUrl(`https://${host}/hook`, rules)).toEqual({ refused });
    expect(checkWebhookUrl(`https://${host}/hook`)).toEqual({ refused });
    expect(verdict(`https://${host.replace(/\.$/, "")}.example/hook`, rules)).toBe("accept");
    expect(verdict("https://alt/hook", rules)).toBe("accept");
  });
});

describe("refusedAddresses", () => {
  test.each(names.filter((each) => each.stage === "resolve" && !each.url.includes("rebind")))(
    "$expect $url: $reason",
    ({ url, expect: expected, dns = [] }) => {
      const refused = refusedAddresses(new URL(url).hostname, dns[0] ?? [], publicHttpsOnly);
      expect(refused === null ? "accept" : "refuse").toBe(expected);
    },
  );
});

describe("addressRefusal", () => {
  test("never accepts an IPv4 address of a special block, in any IPv6 form", () => {
    const special = fc.constantFrom("10.", "127.", "169.254.", "192.168.", "172.16.", "100.64.", "0.", "224.", "240.");
    const octet = fc.nat(255);
    fc.assert(
      fc.property(special, octet, octet, octet, (start, b, c, d) => {
        const ip = `${start}${b}.${c}.${d}`.split(".").slice(0, 4).join(".");
        const [w, x, y, z] = ip.split(".").map(Number) as [number, number, number, number];
        const high = ((w << 8) | x).toString(16);
        const low = ((y << 8) | z).toString(16);
        const spellings = [ip, `::ffff:${ip}`, `::${high}:${low}`, `64:ff9b::${high}:${low}`, `2002:${high}:${low}::`];
        for (const spelling of spellings) expect(addressRefusal(spelling)).not.toBeNull();
      }),
    );
  });

  test.each(["", "example.com", "fe80::1%eth0", "2606:4700::1111%25eth0", "1.2.3", "::g"])("refuses %j", (ip) => {
    expect(addressRefusal(ip)).not.toBeNull();
  });
});
