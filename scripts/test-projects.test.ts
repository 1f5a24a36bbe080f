import { readdirSync, readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { testProjects } from "./test-projects.ts";
import { codeOnly, importsOf } from "./tidy/scan.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = ["packages", "scripts", "sim", "test", "bench"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name}`)
    .filter((path) => path.endsWith(".test.ts") && !/node_modules|\/dist\//.test(path)),
);

const isIn = ({ include, exclude }: { readonly include: readonly string[]; readonly exclude: readonly string[] }) => {
  const fits = (path: string) => (pattern: string) => matchesGlob(path, pattern);
  return (path: string) => include.some(fits(path)) && !exclude.some(fits(path));
};

describe("the projects of the tests", () => {
  test("each test file is in exactly one project", () => {
    const projects = Object.values(testProjects).map(isIn);
    expect(files.length).toBeGreaterThan(300);
    expect(files.filter((path) => projects.filter((includes) => includes(path)).length !== 1)).toEqual([]);
  });

  test("a unit test imports no part of the server, so it needs no database", () => {
    const unit = files.filter(isIn(testProjects.unit));
    expect(unit.length).toBeGreaterThan(80);
    const wrong = unit.filter((path) => {
      const source = readFileSync(join(root, path), "utf8");
      const imports = importsOf(source, codeOnly(source));
      return imports.some(({ specifier }) => /^(?:@countersign|\..*)\/server(?:\/|$)/.test(specifier));
    });
    expect(wrong).toEqual([]);
  });
});
