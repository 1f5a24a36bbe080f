import { yaml_quoting_help, yamlFinding } from "@countersign/contract";
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, parseDocument, Scalar } from "yaml";
import { clipText } from "../values/clip-text.ts";
import { pointerToken } from "../values/json-patch.ts";
import { collectFindings } from "./check/findings.ts";

/** One finding in a policy document, placed in its text. `path` is a JSON Pointer. Source: api.md §10. */
export interface PolicyDiagnostic {
  readonly path: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly code: string;
  readonly message: string;
  readonly help: string | null;
}

/** A value read from text that still knows where every part of it stands. */
export interface SourceDocument {
  /** Null when the text could not be read at all. */
  readonly value: unknown;
  readonly diagnostics: readonly PolicyDiagnostic[];
  /**
   * Makes a diagnostic for the part at `path`, or with `key` for the name that stands before it; `offset` counts UTF-16 units into the text of a string there, and without it
   * the part begins where its quotes or its `|` do.
   */
  readonly at: (
    path: string,
    finding: { code: string; message: string; help?: string | null },
    offset?: number | "key",
  ) => PolicyDiagnostic;
}

/** How deep a document may nest. */
export const depth_max = 32;
const depth_help = `At most ${depth_max} levels.`;

/** A text between quotes, cut where it is long. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${clipText(text, 64)}…` : text);
}

/** A line and a column, both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The longest message, help line and path that the API declares. */
const text_max = 2_000;
const path_max = 1_000;

/** A diagnostic with texts of bearable length, whatever names a document makes up. A path that is too long ends sooner. */
export function diagnosticAt(
  path: string,
  place: Place | null,
  { code, message, help = null }: { code: string; message: string; help?: string | null },
): PolicyDiagnostic {
  const { line, column } = place ?? { line: null, column: null };
  return { path: shortPath(path), line, column, code, message: cut(message), help: help === null ? null : cut(help) };
}

function shortPath(path: string): string {
  return path.length <= path_max ? path : path.slice(0, path.lastIndexOf("/", path_max));
}

function cut(text: string): string {
  return text.length <= text_max ? text : `${clipText(text, text_max - 1)}…`;
}

/**
 * Reads one YAML or JSON document (JSON is read as YAML, of which it is a part) into plain JSON values. Everything that
 * JSON cannot say is refused with a diagnostic: anchors, tags, duplicate and `__proto__` keys, infinities. Never
 * throws.
 */
export function readSource(text: string): SourceDocument {
  // Counted here: the library's own count misses lines of a text that is broken, where places matter most.
  const lines = lineStarts(text);
  const nodes = new Map<string, Node>();
  const keys = new Map<string, Node>();
  const findings = collectFindings();
  const place = (offset: number): Place => placeIn(lines, Math.min(offset, text.length));
  const at: SourceDocument["at"] = (path, finding, offset) => {
    const node = (offset === "key" ? keys.get(path) : undefined) ?? nearest(nodes, path);
    const found = node?.range ? place(typeof offset !== "number" ? node.range[0] : inText(text, node, offset)) : null;
    return diagnosticAt(path, found, finding);
  };

  let parsed: Document;
  try {
    parsed = parseDocument(text, {
      version: "1.2",
      // Its own look for keys that stand twice takes the square of their number: see `readMap`.
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "error",
    });
  } catch (error) {
    // The composer is recursive: text that nests by the thousand ends here as a RangeError.
    if (!(error instanceof RangeError)) throw error;
    const finding = { code: "syntax", message: "The document is nested too deeply.", help: depth_help };
    return { value: null, diagnostics: [diagnosticAt("", { line: 1, column: 1 }, finding)], at };
  }
  for (const error of parsed.errors) {
    if (findings.full()) break;
    findings.add(() => diagnosticAt("", place(error.pos[0]), { code: "syntax", ...yamlFinding(error) }));
  }
  if (parsed.errors.length > 0) return { value: null, diagnostics: findings.list(), at };

  const value = read(parsed.contents, "", 0);
  return { value, diagnostics: findings.list(), at };

  function refuse(path: string, message: string, help: string, offset?: "key"): null {
    findings.add(() => at(path, { code: "syntax", message, help }, offset));
    return null;
  }

  function read(node: unknown, path: string, depth: number): unknown {
    if (node === null || node === undefined) return null;
    nodes.set(path, node as Node);
    if (depth > depth_max) return refuse(path, "The document is nested too deeply.", depth_help);
    if (isAlias(node)) return refuse(path, "Aliases are not supported.", "Write the value out.");
    const { tag, anchor } = node as { tag?: string; anchor?: string };
    if (anchor !== undefined) return refuse(path, "Anchors are not supported.", "Write the value out.");
    if (tag !== undefined && !/^tag:yaml\.org,2002:(map|seq|str|int|float|bool|null)$/.test(tag)) {
      return refuse(path, `The tag ${tag} is not supported.`, yaml_quoting_help);
    }
    if (isMap(node)) return readMap(node.items as Pair[], path, depth);
    if (isSeq(node)) return node.items.map((item, index) => read(item, `${path}/${index}`, depth + 1));
    return isScalar(node) ? readScalar(node.value, path) : refuse(path, "This is not a value.", "Write a JSON value.");
  }

  function readScalar(value: unknown, path: string): unknown {
    if (typeof value === "number" && !Number.isFinite(value))
      return refuse(path, "This is not a number that JSON knows.", "Write a finite number.");
    if (typeof value === "string" && /\p{Surrogate}/u.test(value))
      return refuse(path, "Half of a surrogate pair stands in a text.", "Write the whole character.");
    if (typeof value === "string" && value.includes("\0"))
      return refuse(path, "A NUL character stands in a text.", "Leave it out.");
    return value;
  }

  function readMap(items: readonly Pair[], path: string, depth: number): Record<string, unknown> {
    const record: Record<string, unknown> = {};
    for (const { key, value } of items) {
      const name = isScalar(key) ? String(key.value) : null;
      if (name === null || name === "__proto__") {
        refuse(path, "This key is not supported.", "Keys are plain texts, and __proto__ is none of them.");
        continue;
      }
      const child = `${path}/${pointerToken(name)}`;
      const twice = Object.hasOwn(record, name);
      // A null value may have no node of its own: then the key tells the place.
      nodes.set(child, key as Node);
      keys.set(child, key as Node);
      if (twice) refuse(child, `The key ${shown(name)} stands twice.`, "Keep one of the two.", "key");
      record[name] = read(value, child, depth + 1);
    }
    return record;
  }
}

/** The offset at which each line begins. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function placeIn(starts: readonly number[], offset: number): Place {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
}

function nearest(nodes: ReadonlyMap<string, Node>, path: string): Node | undefined {
  for (let at = path; ; at = at.slice(0, at.lastIndexOf("/"))) {
    const node = nodes.get(at);
    if (node !== undefined || at === "") return node;
  }
}

/**
 * Where in the document the `offset`-th unit of a string's value stands: white space may have been folded and
 * characters escaped, so both texts are walked side by side.
 */
function inText(text: string, node: Node, offset: number): number {
  const [start, end] = node.range ?? [0, 0];
  if (!(node instanceof Scalar) || typeof node.value !== "string") return start;
  const value = node.value;
  const doubleQuoted = node.type === Scalar.QUOTE_DOUBLE;
  let at = start;
  if (node.type === Scalar.QUOTE_SINGLE || doubleQuoted) at += 1;
  if (node.type === Scalar.BLOCK_FOLDED || node.type === Scalar.BLOCK_LITERAL) at = text.indexOf("\n", start) + 1;
  for (let i = 0; ; i += 1) {
    if (i < value.length && isSpace(value.charCodeAt(i)) && text[at] !== "\\") {
      if (i >= offset) return Math.min(at, end);
      // One space of the value may be a line break and an indentation in the document.
      if (isSpace(text.charCodeAt(at)) && !(i + 1 < value.length && isSpace(value.charCodeAt(i + 1)))) {
        while (at < end && isSpace(text.charCodeAt(at))) at += 1;
      } else at += isSpace(text.charCodeAt(at)) ? 1 : 0;
      continue;
    }
    if (text[at] !== "\\" || !doubleQuoted) while (at < end && isSpace(text.charCodeAt(at))) at += 1;
    if (i >= offset || at >= end || i >= value.length) return Math.min(at, end);
    at +=
      doubleQuoted && text[at] === "\\"
        ? escapeLength(text.charAt(at + 1))
        : node.type === Scalar.QUOTE_SINGLE && text[at] === "'"
          ? 2
          : 1;
  }
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 9 || code === 13;
}

function escapeLength(letter: string): number {
  return letter === "u" ? 6 : letter === "x" ? 4 : letter === "U" ? 10 : 2;
}
