import { pointerNames } from "../../values/json-patch.ts";
import { depth_max, diagnosticAt, type Place, readSource, type SourceDocument } from "../source.ts";

/**
 * A document that came as JSON, placed as its text with two spaces of indentation. Where it holds nothing but JSON, which is
 * the rule, that text is never made: reading it took 110 ms for 64 KiB, and whoever sends a wrong document would hold up
 * everybody else for so long. Lines are counted instead, when something has to be placed.
 */
export function readObject(value: Readonly<Record<string, unknown>>): SourceDocument {
  if (!isPlain(value, 0)) return readSource(JSON.stringify(value, null, 2));
  let linesIn: LinesIn | null = null;
  return {
    value,
    diagnostics: [],
    at: (path, finding, offset) => {
      linesIn ??= linesOf(value);
      return diagnosticAt(path, placeOf(value, linesIn, path, offset), finding);
    },
  };
}

/** Whether a value is what reading its JSON text would give, without a finding. */
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

/** For an object or list of the document, on which line after its own bracket each of its members begins. */
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

/** Where the part at `path`, else the nearest around it, stands in the text. */
function placeOf(document: object, linesIn: LinesIn, path: string, offset: number | "key" | undefined): Place {
  let line = 1;
  let column = 1;
  let value: unknown = document;
  let key = 0;
  for (const [depth, wanted] of pointerNames(path).entries()) {
    const start = typeof value === "object" && value !== null ? linesIn(value).get(wanted) : undefined;
    if (start === undefined) {
      // The part is not there: then its surroundings begin where they begin, not at a name.
      key = 0;
      break;
    }
    line += start;
    key = Array.isArray(value) ? 0 : JSON.stringify(wanted).length + 2;
    column = 2 * depth + 3 + key;
    value = (value as Record<string, unknown>)[wanted];
  }
  if (offset === "key") return { line, column: column - key };
  if (offset === undefined || typeof value !== "string") return { line, column };
  // Half a pair would be escaped.
  const before = value.slice(0, offset).replace(/[\ud800-\udbff]$/, "?");
  return { line, column: column + JSON.stringify(before).length - 1 };
}
