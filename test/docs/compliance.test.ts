/** The tables of docs/compliance.md and docs/how-to/erasure.md: what they name exists. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./code-blocks.ts";
import { testTitles } from "./test-titles.ts";

const page = "docs/compliance.md";
const head = "| Duty | What Countersign gives | Where to see it | Test | What stays with you |";
const columns = 5;
const nothing = "–";

const read = (path: string): string => readFileSync(join(root, path), "utf8");

interface Row {
  /** Counts from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Returns the rows of all tables with the head of duties. */
function rowsOf(text: string): Row[] {
  let inside = false;
  return text.split("\n").flatMap((line, index) => {
    inside = line === head || (inside && line.startsWith("|"));
    if (!inside || line === head || line.startsWith("|---")) return [];
    return [
      {
        line: index + 1,
        cells: line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      },
    ];
  });
}

interface Link {
  readonly path: string;
  readonly anchor: string | undefined;
  readonly title: string | undefined;
}

/** Returns the links of a cell, with paths from the root of the repository. */
function linksOf(cell: string): Link[] {
  return Array.from(
    cell.matchAll(/\]\(([^)#\s]+)(?:#([^)\s]*))?(?: "([^"]*)")?\)/g),
    ([, path = "", anchor, title]) => ({
      path: join("docs", path),
      anchor,
      title,
    }),
  );
}

/** Returns the anchors of headings that are the same on GitHub and on the site: those that begin with a letter. */
function anchorsOf(text: string): string[] {
  return Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  ).filter((anchor) => /^[a-z]/.test(anchor));
}

function problemsOfPages(links: readonly Link[]): string[] {
  if (links.length === 0) return ["no link to a page says where to see it"];
  return links.flatMap(({ path, anchor }) => {
    if (!path.endsWith(".md") || !existsSync(join(root, path))) return [`there is no page ${path}`];
    if (anchor !== undefined && !anchorsOf(read(path)).includes(anchor)) return [`${path} has no heading #${anchor}`];
    return [];
  });
}

function problemsOfTests(links: readonly Link[]): string[] {
  if (links.length === 0) return ["no link names a test"];
  return links.flatMap(({ path, title }) => {
    if (!path.endsWith(".test.ts") || !existsSync(join(root, path))) return [`there is no test file ${path}`];
    if (title === undefined || !testTitles(read(path)).has(title)) return [`${path} has no test "${title}"`];
    return [];
  });
}

/** Returns what is wrong with a row, each with the row's line. */
function problemsOf({ line, cells }: Row): string[] {
  const [duty = "", gives = "", where = "", tests = "", stays = ""] = cells;
  const problems: string[] = [];
  if (cells.length !== columns) problems.push(`the row has ${cells.length} cells instead of ${columns}`);
  if (duty === "" || gives === "") problems.push("the duty or what Countersign gives is missing");
  if (stays === "" || stays === nothing) problems.push("the row does not say what stays with the reader");
  if (gives !== "Nothing.") problems.push(...problemsOfPages(linksOf(where)), ...problemsOfTests(linksOf(tests)));
  else if (where !== nothing || tests !== nothing) problems.push("a row that gives nothing names a page or a test");
  return problems.map((problem) => `${page}:${line}: ${problem}`);
}

test("each row leads to pages and tests that exist, and says what stays with the reader", () => {
  const rows = rowsOf(read(page));
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.flatMap(problemsOf)).toEqual([]);
});

test("a broken row is reported with its line", () => {
  const seen =
    '[Evidence](evidence.md) | [this](../test/docs/compliance.test.ts "a broken row is reported with its line")';
  const rows = [
    `Duty | Gives | ${seen} | Stays`,
    "Duty | Nothing. | – | – | Stays",
    `Duty | Gives | ${seen} |`,
    `Duty | Gives | ${seen}`,
    `Duty | Nothing. | ${seen} | Stays`,
    `Duty | Gives | ${seen.replace("evidence.md", "gone.md")} | Stays`,
    `Duty | Gives | ${seen.replace("evidence.md", "evidence.md#gone")} | Stays`,
    `Duty | Gives | ${seen.replace("a broken row", "a whole row")} | Stays`,
    `Duty | Gives | ${seen.replace("compliance.test.ts", "gone.test.ts")} | Stays`,
    "Duty | Gives | – | – | Stays",
  ];
  const text = ["# Title", head, "|---|---|---|---|---|", ...rows.map((row) => `| ${row} |`), "", "| other | table |"];
  expect(rowsOf(text.join("\n")).flatMap(problemsOf)).toEqual([
    `${page}:6: the row does not say what stays with the reader`,
    `${page}:7: the row has 4 cells instead of 5`,
    `${page}:7: the row does not say what stays with the reader`,
    `${page}:8: a row that gives nothing names a page or a test`,
    `${page}:9: there is no page docs/gone.md`,
    `${page}:10: docs/evidence.md has no heading #gone`,
    `${page}:11: test/docs/compliance.test.ts has no test "a whole row is reported with its line"`,
    `${page}:12: there is no test file test/docs/gone.test.ts`,
    `${page}:13: no link to a page says where to see it`,
    `${page}:13: no link names a test`,
  ]);
});

test("the page about erasure names every table of the database", () => {
  const schema = read("packages/server/migrations/schema.golden.txt");
  const tables = Array.from(schema.matchAll(/^table (\w+)/gm), ([, name = ""]) => name);
  expect(tables.length).toBeGreaterThan(60);
  const text = read("docs/how-to/erasure.md");
  expect(tables.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
