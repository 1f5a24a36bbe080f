import { Unknown } from "@countersign/cel";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { addresses, unnamedAddresses, unnamedLinks } from "./web-addresses.ts";

const links = (value: unknown) => unnamedLinks({ p: value }, {});
const both = (value: unknown) => [links(value), addresses(value)];

describe("links and addresses are found, in one spelling:", () => {
  test.each([
    ["a scheme", "http://evil.example/x?y=1#z", "evil.example/x?y=1#z"],
    ["another case", "HTTPS://EVIL.Example/X", "evil.example/X"],
    ["a trailing dot", "https://evil.example./x", "evil.example/x"],
    ["user and password", "https://corp.example:pw@evil.example/x", "evil.example/x"],
    ["a port", "https://evil.example:8443", "evil.example:8443"],
    ["the usual port", "https://evil.example:443/", "evil.example"],
    ["a percent-encoded host", "https://evil%2Eexample", "evil.example"],
    ["dots in the path", "https://evil.example/a/../b", "evil.example/b"],
    ["letters of other scripts", "https://bücher.example", "xn--bcher-kva.example"],
    ["the same in ASCII", "https://xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["full-width letters", "ｈｔｔｐｓ：／／ｅｖｉｌ．ｅｘａｍｐｌｅ", "evil.example"],
    ["characters that nobody sees", "https://ev\u200bil.ex\u00adample", "evil.example"],
    ["HTML entities", "https&#58;&#x2f;/evil&period;example", "evil.example"],
    ["a number for an IPv4 address", "http://2130706433/", "127.0.0.1"],
    ["a hexadecimal IPv4 address", "http://0x7f.1/", "127.0.0.1"],
    ["an IPv6 address", "http://[::1]:80/x", "[::1]/x"],
    ["backslashes", "http:\\\\evil.example\\x", "evil.example/x"],
    ["one slash", "http:/evil.example", "evil.example"],
    ["no slash", "https:evil.example", "evil.example"],
    ["no scheme but slashes", "//evil.example/x", "evil.example/x"],
    ["a space after the scheme", "http: //www.evil.example", "www.evil.example"],
    ["www.", "see www.evil.example.", "www.evil.example"],
    ["www. before a file's ending", "www.evil.pdf", "www.evil.pdf"],
    ["a path without a scheme", "evil.example/x", "evil.example/x"],
    ["a port without a scheme", "evil.example:8080", "evil.example:8080"],
    ["an IP address with a path", "203.0.113.7/x", "203.0.113.7/x"],
    ["user and password without a scheme", "corp.example@evil.example/x", "evil.example/x"],
    ["a Markdown link", "[your invoice](https://evil.example/x)", "evil.example/x"],
    ["a Markdown image without a scheme", "![](//evil.example/x.png)", "evil.example/x.png"],
    ["HTML", '<a href="https://evil.example/x">here</a>', "evil.example/x"],
    ["angle brackets", "<https://evil.example/x>", "evil.example/x"],
    ["another scheme", "s3://bucket/key", "s3://bucket/key"],
    ["a Windows share", "\\\\Evil\\Share", "\\\\evil\\share"],
    ["a mail link", "Write to [Bob](MAILTO:Bob@evil.example).", "mailto:bob@evil.example"],
    ["a mail link in HTML", '<a href="mailto&#58;bob&commat;evil.example">Bob</a>', "mailto:bob@evil.example"],
    ["a mail link with its parameters", "<mailto:?to=bob@evil|Bob>", "mailto:?to=bob@evil"],
    ["a phone link", "call tel:+1-201-555-0123, please", "tel:+1-201-555-0123"],
    ["a phone link with brackets", "tel:(201)555-0123", "tel:(201)555-0123"],
    ["a host of another machine's file", "file://evil.example/x", "file://evil.example/x"],
  ])("%s", (_name, text, address) => {
    expect(both(text)).toEqual([[address], [address]]);
  });

  test.each([
    ["a name", "Please visit evil.example today", "evil.example"],
    ["a name at the end of a sentence", "It is at evil.example.", "evil.example"],
    ["a name with a path inside a sentence", "Please visit evil.example/x, thanks", "evil.example/x"],
    ["a Markdown link", "[x](evil.example)", "evil.example"],
    ["a name that ends like a script", "evil.sh", "evil.sh"],
    ["a name of another script", "пример.рф", "xn--e1afmkfd.xn--p1ai"],
    ["an ideographic dot between Latin letters", "evil。example", "evil.example"],
    ["a name with a symbol", "i❤.example", "xn--i-7iq.example"],
    ["a name in Markdown's bold", "**evil.example**", "evil.example"],
    ["an IPv4 address", "on 203.0.113.7 it is", "203.0.113.7"],
    ["an address behind an @, with a path", "corp.example@evil.example/x in a text", "evil.example/x"],
  ])("addresses only: %s", (_name, text, address) => {
    expect(both(text)).toEqual([[], [address]]);
  });

  test.each([
    ["a name", { url: "evil.example" }, "evil.example"],
    ["a percent-encoded name", { url: "evil%2Eexample" }, "evil.example"],
    ["a number", { url: "2130706433" }, "127.0.0.1"],
    ["an ideographic dot", { url: "例え。テスト" }, "xn--r8jz45g.xn--zckzah"],
    ["a hexadecimal number", { url: "0x7f000001" }, "127.0.0.1"],
    ["a line break inside", { url: "https://ev\nil.example" }, "evil.example"],
    ["a list", { imageURLs: ["evil.example"] }, "evil.example"],
    ["a nested value", { request: { callback_url: { value: "evil.example" } } }, "evil.example"],
    ["slashes", { href: "\\\\evil.example" }, "evil.example"],
    ["a name in a sentence", { link: "open evil.example now" }, "evil.example"],
    ["a host", { host: "evil.example" }, "evil.example"],
  ])("under a name of an address: %s", (_name, value, address) => {
    for (const found of both(value)) expect(found).toContain(address);
  });
});

describe("no address is in", () => {
  test.each([
    ["a text", "Hi Bob, see you at 10:30 a.m. on 12.05.2026, e.g. in room 3.2"],
    ["mail addresses", "bob.smith@corp.example and mailto: bob@corp.example"],
    ["phone numbers", "Tel: +1 201 555 0123, hotel:5, tel:unknown, mailto:nobody"],
    ["a name of a file", "quarterly-report.v2.pdf and notes.txt"],
    ["a path of a file", "docs/readme.md ./src/main.rs ../a.sh /etc/hosts.d C:\\dir\\file.md"],
    ["a file of this machine", "file:///etc/hosts"],
    ["a version or an amount", "v1.2.3 of 1.000,50 EUR"],
    ["sentences without spaces", "你好。世界。"],
    ["a name in code", "row.first_name, rows[0].second_name"],
    ["no text", [1, true, null, {}]],
  ])("%s", (_name, value) => {
    expect(both(value)).toEqual([[], []]);
  });

  test.each([
    ["a path on the same host", { url: "/v1/users" }],
    ["a single name", { host: "prod-db", domain: "finance" }],
    ["a number by which something is known", { link_id: "1234" }],
    ["a file", { link: "notes.txt" }],
  ])("under a name of an address: %s", (_name, value) => {
    expect(both(value)).toEqual([[], []]);
  });
});

test("no address contains a character that a database refuses", () => {
  const text = "http://a&#0;b http://c%00d http://&#xd800; //e\u0000.example \\\\f\u0000\\g";
  expect(addresses(text).join("")).not.toMatch(/[\p{Cc}\p{Cs}]/u);
});

test.each(["https://evil.example/", "mailto:bob@evil.example?"])(
  "a long row of marks in %s takes linear time",
  (start) => {
    const text = `${start}${")".repeat(1_000_000)}x`;
    expect((links(text) as string[])[0]).toHaveLength(
      text.length - (start.startsWith("https") ? "https://".length : 0),
    );
  },
);

test("addresses come in the order of the texts, each once", () => {
  const value = { b: ["https://two.example", "http://ONE.example/"], a: { c: "//one.example www.three.example" } };
  expect(links(value)).toEqual(["two.example", "one.example", "www.three.example"]);
});

test("no host is missed, with any text around its address and any spelling", () => {
  const host = fc.tuple(fc.domain(), fc.boolean()).map(([name, upper]) => (upper ? name.toUpperCase() : name));
  const around = fc.constantFrom("", " ", "(", '"', "<", "[x](", "see ", "\n", "=", ",", ">");
  const start = fc.constantFrom(
    "http://",
    "https://",
    "//",
    "http:\\\\",
    "https:",
    "http://a:b@",
    "HTTP:////",
    "ftp://",
  );
  fc.assert(
    fc.property(around, start, host, fc.webPath(), (before, scheme, name, path) => {
      const found = links(`${before}${scheme}${name}${path}`) as string[];
      expect(found.some((each) => each.startsWith(name.toLowerCase()))).toBe(true);
    }),
    { numRuns: runs(3_000) },
  );
});

describe("the addresses of a parameter are unnamed", () => {
  const params = { url: "https://evil.example/x", note: "ask evil.example" };

  test.each([
    ["without letters", {}, ["evil.example/x"], ["evil.example/x", "evil.example"]],
    ["that only untrusted content has", { url: "U", note: "U" }, ["evil.example/x", "evil.example"]],
    ["that the model wrote", { url: "-", note: "" }, ["evil.example/x", "evil.example"]],
    ["that null tells nothing of", { url: null, note: null }, ["evil.example/x"], ["evil.example/x", "evil.example"]],
    ["but not where the user named it", { url: "PU", note: "-" }, ["evil.example"]],
    ["nor the directory", { url: "K", note: "K" }, []],
    ["nor a trusted output", { url: "UT", note: "T" }, []],
  ])("%s", (_name, letters, unnamed_links: string[], unnamed = unnamed_links) => {
    expect(unnamedLinks(params, letters)).toEqual(unnamed_links);
    expect(unnamedAddresses(params, letters)).toEqual(unnamed);
  });

  test("letters that are not a text or an object make the result unknown, unless there is no address", () => {
    for (const unnamed of [unnamedLinks, unnamedAddresses]) {
      expect(unnamed(params, { url: "P", note: 7 })).toBeInstanceOf(Unknown);
      expect(unnamed(params, "P")).toBeInstanceOf(Unknown);
      expect(unnamed({ note: "nothing" }, { note: 7 })).toEqual([]);
    }
  });
});

test("every link is an address, and no value makes either function throw", () => {
  const part = fc.constantFrom(
    "http",
    ":",
    "/",
    "\\",
    "@",
    ".",
    "a",
    "example",
    "[",
    "::1",
    "]",
    "%2E",
    "&#46;",
    "。",
    " ",
    "1",
  );
  const text = fc.array(part, { maxLength: 20 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(text, fc.anything(), fc.dictionary(fc.constantFrom("url", "a"), text)), (value) => {
      const found = new Set(addresses(value));
      expect((links(value) as string[]).filter((each) => !found.has(each))).toEqual([]);
    }),
    { numRuns: runs(3_000) },
  );
});
