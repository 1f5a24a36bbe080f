import { describe, expect, it } from "vitest";
import { placesOf, referenceFindings } from "./references.ts";

const specification =
  '<a id="s2-9"></a>\n\n### 2.9 Context\n\n1. First.\n2. Second.\n\n<a id="s3"></a>\n\n## 3. States\n';
const places = placesOf([
  { path: "docs/reference/specification.md", source: specification },
  { path: "docs/decisions/0030-the-ledger.md", source: "" },
  { path: "packs/README.md", source: "" },
]);
const messages = (comment: string, path = "packages/core/src/a.ts"): string[] =>
  referenceFindings(path, `/**\n * ${comment}\n */\n`, places).map(({ line, message }) => `${line} ${message}`);

describe("references that lead somewhere", () => {
  it.each([
    "Source: spec §2.9.",
    "Source: spec §2.9 rule 2 and §3.",
    "RFC 8693 §4.1",
    "See docs/decisions/0030-the-ledger.md and decision 0030.",
    "Every policy of docs/*.md.",
  ])("%s", (comment) => {
    expect(messages(comment)).toEqual([]);
  });

  it("a page beside the file", () => {
    expect(messages("See README.md.", "packs/a.ts")).toEqual([]);
  });
});

describe("references that lead nowhere", () => {
  it.each([
    ["Source: spec §2.8.", "docs/reference/specification.md has no section 2.8"],
    ["Source: spec §3, §2.9 rule 3.", "docs/reference/specification.md has no section 2.9 rule 3"],
    ["Source: spec §2.9–2.11.", "docs/reference/specification.md has no section 2.11"],
    ["See docs/api.md.", "docs/api.md is not in this repository: say what is meant"],
    ["See README.md.", "README.md is not in this repository: say what is meant"],
    ["Source: decision 0031.", "decision 0031 is not in docs/decisions"],
  ])("%s", (comment, message) => {
    expect(messages(comment)).toEqual([`2 ${message}`]);
  });
});
