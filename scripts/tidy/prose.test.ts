import { describe, expect, it } from "vitest";
import { proseFindings, prosePatterns } from "./prose.ts";

const path = "packages/core/src/a.ts";
const lines = (source: string, at = path) => proseFindings(at, source).map(({ line }) => line);
const banned = "The service decides " + "ane" + "w.";

describe("banned phrases", () => {
  it.each(prosePatterns)("$pattern finds its example once and leaves the plain text", ({ found, fine }) => {
    expect(lines(`/** ${found} */`)).toEqual([1]);
    expect(lines(`/** ${fine} */`)).toEqual([]);
  });

  it("are found in every kind of comment, at the line of the phrase", () => {
    expect(lines(`// ${banned}`)).toEqual([1]);
    expect(lines(`/**\n * First line.\n * ${banned}\n */`)).toEqual([3]);
    expect(lines("// decides as many\n// actions as may wait")).toEqual([1]);
    expect(lines("/**\n * decides as many\n * actions as may\n */")).toEqual([2]);
  });

  it("are found in strings, templates and elements of JSX", () => {
    expect(lines(`const a = "${banned}";`)).toEqual([1]);
    expect(lines(`const a = \`\${1}\n ${banned}\`;`)).toEqual([2]);
    expect(lines(`const a = <p>${banned}</p>;`, "a.tsx")).toEqual([1]);
  });

  it("are found in Markdown outside of code and addresses", () => {
    expect(lines(`# Title\n\n${banned}\n`, "docs/a.md")).toEqual([3]);
    expect(lines("```\nin vain\n```\n`in vain` [link](in vain)\n", "docs/a.md")).toEqual([]);
  });

  it("are found in comments, docstrings and texts of Python", () => {
    expect(lines(`# ${banned}\n`, "a.py")).toEqual([1]);
    expect(lines("# decides as many\n# actions as may wait\n", "a.py")).toEqual([1]);
    expect(lines(`def decide():\n    """Decides.\n\n    ${banned}\n    """\n`, "a.py")).toEqual([4]);
    expect(lines(`a = "#"  # Fine.\nb = f"${banned}"\n`, "a.py")).toEqual([2]);
    expect(lines('"""It waits."""\n# Calls `anew`.\nanew = "in vain"\n', "a.py")).toEqual([1]);
  });

  it("names, code in backticks and one-word texts are not prose", () => {
    expect(lines('const anew = "anew"; // Calls `anew`.')).toEqual([]);
  });

  it("a pronoun is refused at the start of a comment only", () => {
    expect(lines("// It waits.")).toEqual([1]);
    expect(lines("// The writer waits. It\n// wakes later.")).toEqual([]);
    expect(lines('const a = "It waits for a second.";')).toEqual([]);
  });
});
