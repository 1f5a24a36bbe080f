import { pointerNames } from "../values/json-patch.ts";
import { locateText } from "./locate-text.ts";
import { depth_max, type Located, type Place, type Within } from "./located.ts";

/**
 * Locates parts as in JSON text with two spaces of indentation. The text is generated only for values outside JSON,
 * because parsing 64 KiB takes 110 ms.
 */
export function locateObject(value: Readonly<Record<string, unknown>>): Located {
  if (!isPlain(value, 0)) return locateText(JSON.stringify(value, null, 2));
  let linesIn: LinesIn | null = null;
  const placeOf = (path: string, within?: Within): Place => {
    linesIn ??= linesOf(value);
    return placeIn(value, linesIn, path, within);
  };
  return { value, diagnostics: [], placeOf };
}

/** True if the value survives a JSON round trip. */
function isPlain(value: unknown, depth: number): boolean {
  if (depth > depth_max) return false;
  switch (typeof value) {
    case "string":
      return !value.includes("\0") && !/\p{Surrogate}/u.test(value);
    case "number":
      return Number.isFinite(value);
    case "boolean":
      return true;
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1));
  return Object.entries(value).every(([name, item]) => name !== "__proto__" && isPlain(item, depth + 1));
}

/** Line of each member relative to the opening bracket. */
type LinesIn = (container: object) => ReadonlyMap<string, number>;

function linesOf(document: object): LinesIn {
  const lengths = new Map<object, number>();
  count(document);
  const known = new Map<object, ReadonlyMap<string, number>>();
  return (container) => {
    const starts = known.get(container) ?? startsIn(container);
    known.set(container, starts);
    return starts;
  };

  function count(value: unknown): number {
    if (typeof value !== "object" || value === null) return 1;
    let inner = 0;
    for (const item of Object.values(value)) inner += count(item);
    const own = inner === 0 ? 1 : inner + 2;
    lengths.set(value, own);
    return own;
  }

  function startsIn(container: object): ReadonlyMap<string, number> {
    const starts = new Map<string, number>();
    let line = 1;
    for (const [name, item] of Object.entries(container)) {
      starts.set(name, line);
      line += lengths.get(item) ?? 1;
    }
    return starts;
  }
}

function placeIn(document: object, linesIn: LinesIn, path: string, within: Within | undefined): Place {
  let line = 1;
  let column = 1;
  let value: unknown = document;
  let key = 0;
  for (const [depth, wanted] of pointerNames(path).entries()) {
    const start = typeof value === "object" && value !== null ? linesIn(value).get(wanted) : undefined;
    if (start === undefined) {
      // Missing part: use the enclosing one.
      key = 0;
      break;
    }
    line += start;
    key = Array.isArray(value) ? 0 : JSON.stringify(wanted).length + 2;
    column = 2 * depth + 3 + key;
    value = (value as Record<string, unknown>)[wanted];
  }
  if (within === "key") return { line, column: column - key };
  if (within === undefined || typeof value !== "string") return { line, column };
  // Half of a surrogate pair would be escaped.
  const before = value.slice(0, within).replace(/[\ud800-\udbff]$/, "?");
  return { line, column: column + JSON.stringify(before).length - 1 };
}
