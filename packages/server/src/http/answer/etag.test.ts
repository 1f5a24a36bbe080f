import { expect, test } from "vitest";
import { etagOf, isNamedBy } from "./etag.ts";

const etag = etagOf("an answer");
const opaque = etag.slice(1, -1);
const suffixes = ["gzip", "br", "zstd", "deflate"].flatMap((coding) => [`-${coding}`, `--${coding}`, `;${coding}`]);

test.each([etag, ...suffixes.flatMap((suffix) => [`"${opaque}${suffix}"`, `"${opaque}"${suffix}`])])(
  "If-None-Match: %s names the tag, also as a weak tag and in a list",
  (listed) => {
    for (const header of [listed, `W/${listed}`, `"other", ${listed}`, ` W/${listed} ,"other"`]) {
      expect(isNamedBy(etag, header), header).toBe(true);
    }
  },
);

test.each([
  undefined,
  "",
  '"other"',
  '"other-gzip"',
  opaque,
  `"${opaque}-gzip-2"`,
  `"${opaque}-png"`,
  `"${opaque}gzip"`,
  `"-gzip${opaque}"`,
])("If-None-Match: %s does not name the tag", (header) => {
  expect(isNamedBy(etag, header)).toBe(false);
});

test("a tag that happens to end like a suffix matches only itself, with or without a suffix", () => {
  expect(isNamedBy('"x-br"', '"x-br"')).toBe(true);
  expect(isNamedBy('"x-br"', '"x-br-gzip"')).toBe(true);
  expect(isNamedBy('"x-br"', '"x"')).toBe(false);
});

test("a tag that ends with a hyphen matches with each suffix, too", () => {
  for (const suffix of suffixes) {
    expect(isNamedBy('"x-"', `"x-${suffix}"`), suffix).toBe(true);
    expect(isNamedBy('"x-"', `"x-"${suffix}`), suffix).toBe(true);
  }
});
