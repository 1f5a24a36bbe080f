import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);

type Entry = Readonly<Record<string, string>>;

interface Manifest {
  readonly main: string;
  readonly types: string;
  readonly exports: { readonly ".": Entry } & Readonly<Record<string, Entry>>;
}

test.each(["cel", "contract", "sdk"])(
  "%s: TypeScript's older resolution, which ignores exports, finds the same",
  (name) => {
    const manifest: Manifest = JSON.parse(readFileSync(new URL(`packages/${name}/package.json`, root), "utf8"));
    const { types, default: program } = manifest.exports["."];
    expect([manifest.main, manifest.types]).toEqual([program, types]);
  },
);

test.each(["cel", "contract", "sdk"])(
  "%s: files that a project resolves by its own conditions are in the package",
  (name) => {
    const manifest: Manifest = JSON.parse(readFileSync(new URL(`packages/${name}/package.json`, root), "utf8"));
    for (const [condition, target] of Object.values(manifest.exports).flatMap(Object.entries<string>))
      if (!condition.startsWith("@countersign/")) expect(target, condition).toMatch(/^\.\/dist\//);
  },
);

test("a package holds the build's results and no record of the build", () => {
  const packed = spawnSync(
    "npm",
    ["pack", "--dry-run", "--json", "-w", "@countersign/cel", "-w", "@countersign/contract", "-w", "@countersign/sdk"],
    { cwd: root, encoding: "utf8" },
  );
  const packages: { name: string; files: { path: string }[] }[] = JSON.parse(packed.stdout);
  expect(packages.map(({ name }) => name)).toHaveLength(3);
  for (const { files } of packages)
    for (const { path } of files) expect(path).toMatch(/^(?:package\.json|README\.md|dist\/.*\.(?:js|js\.map|d\.ts))$/);
});
