/** Finds import circles inside a package, direct or indirect. Type imports count. */
import { join } from "node:path/posix";
import { codeOnly, importsOf } from "./scan.ts";
import { isTestCode } from "./walls.ts";

/** Packages that still have circles. This list may only shrink. */
const packagesWithCircles: readonly string[] = ["cel", "core"];

function importCircles(files: readonly { readonly path: string; readonly source: string }[]): string[][] {
  const imports = new Map(files.map(({ path, source }) => [path, relativeImports(path, source)]));
  const reached = new Map([...imports.keys()].map((path) => [path, reachableFrom(path, imports)]));
  const circles: string[][] = [];
  const known = new Set<string>();
  for (const path of imports.keys()) {
    if (known.has(path) || !reached.get(path)?.has(path)) continue;
    const circle = [...imports.keys()].filter(
      (other) => reached.get(path)?.has(other) && reached.get(other)?.has(path),
    );
    for (const each of circle) known.add(each);
    circles.push(circle.sort());
  }
  return circles;
}

function relativeImports(path: string, source: string): string[] {
  return importsOf(source, codeOnly(source))
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier }) => join(path, "..", specifier));
}

function reachableFrom(path: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>();
  const open = [...(imports.get(path) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    open.push(...(imports.get(next) ?? []));
  }
  return reached;
}

export function circleFindings(files: readonly { readonly path: string; readonly source: string }[]) {
  const checked = files.filter(({ path }) => {
    const [, name = ""] = /^packages\/([\w-]+)\/src\//.exec(path) ?? [];
    return name !== "" && !packagesWithCircles.includes(name) && !isTestCode(path);
  });
  return importCircles(checked).map((circle) => ({
    path: circle[0] as string,
    line: 0,
    rule: "circle",
    message: `imports itself through ${circle.slice(1).join(", ")}: move what both need into a module below them`,
  }));
}
