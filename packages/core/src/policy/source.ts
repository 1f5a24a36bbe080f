import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  Scalar,
} from "yaml";

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

const depth_max = 32;

/** The most findings of one document; an answer shows no more. */
export const diagnostics_max = 50;

/** Escapes one name for a JSON Pointer. */
export function pointerToken(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/**
 * A document that came as JSON, placed as its text with two spaces of indentation. Where it holds nothing but JSON, which is
 * the rule, the text is made only when something has to be placed: reading 64 KiB of it takes longer than all checks.
 */
export function readObject(value: Readonly<Record<string, unknown>>): SourceDocument {
  const text = (): string => JSON.stringify(value, null, 2);
  if (!isPlain(value, 0)) return readSource(text());
  let placed: SourceDocument | null = null;
  return {
    value,
    diagnostics: [],
    at: (path, finding, offset) => {
      placed ??= readSource(text(), { uniqueKeys: false });
      return placed.at(path, finding, offset);
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

/**
 * Reads one YAML or JSON document (JSON is read as YAML, of which it is a part) into plain JSON values. Everything that
 * JSON cannot say is refused with a diagnostic: anchors, tags, duplicate and `__proto__` keys, infinities. Never
 * throws. Looking for keys that stand twice takes the square of their number; a text made from an object has none.
 */
export function readSource(text: string, { uniqueKeys = true } = {}): SourceDocument {
  const lines = new LineCounter();
  const nodes = new Map<string, Node>();
  const keys = new Map<string, Node>();
  const diagnostics: PolicyDiagnostic[] = [];
  const place = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const at: SourceDocument["at"] = (path, finding, offset) => {
    const node = (offset === "key" ? keys.get(path) : undefined) ?? nearest(nodes, path);
    const found = node?.range
      ? place(typeof offset !== "number" ? node.range[0] : inText(text, node, offset))
      : { line: null, column: null };
    return { path, ...found, code: finding.code, message: finding.message, help: finding.help ?? null };
  };

  let parsed: Document;
  try {
    parsed = parseDocument(text, {
      lineCounter: lines,
      version: "1.2",
      uniqueKeys,
      prettyErrors: false,
      logLevel: "error",
    });
  } catch (error) {
    // The composer is recursive: text that nests by the thousand ends here as a RangeError.
    if (!(error instanceof RangeError)) throw error;
    const finding = {
      code: "syntax",
      message: "The document is nested too deeply.",
      help: `At most ${depth_max} levels.`,
    };
    return { value: null, diagnostics: [{ path: "", line: 1, column: 1, ...finding }], at };
  }
  for (const error of parsed.errors.slice(0, diagnostics_max)) {
    const help =
      error.code === "DUPLICATE_KEY" ? "Keep one of the two." : "The document must be one YAML or JSON document.";
    const message = error.message.split("\n", 1)[0] ?? "";
    diagnostics.push({ path: "", ...place(error.pos[0]), code: "syntax", message, help });
  }
  if (diagnostics.length > 0) return { value: null, diagnostics, at };

  const value = read(parsed.contents, "", 0);
  return { value, diagnostics, at };

  function refuse(path: string, message: string, help: string): null {
    if (diagnostics.length < diagnostics_max) diagnostics.push(at(path, { code: "syntax", message, help }));
    return null;
  }

  function read(node: unknown, path: string, depth: number): unknown {
    if (node === null || node === undefined) return null;
    nodes.set(path, node as Node);
    if (depth > depth_max) return refuse(path, "The document is nested too deeply.", `At most ${depth_max} levels.`);
    if (isAlias(node)) return refuse(path, "Aliases are not supported.", "Write the value out.");
    const { tag, anchor } = node as { tag?: string; anchor?: string };
    if (anchor !== undefined) return refuse(path, "Anchors are not supported.", "Write the value out.");
    if (tag !== undefined && !/^tag:yaml\.org,2002:(map|seq|str|int|float|bool|null)$/.test(tag)) {
      return refuse(
        path,
        `The tag ${tag} is not supported.`,
        "Only what JSON can say: objects, lists, texts, numbers, true, false, null.",
      );
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
      // A null value may have no node of its own: then the key tells the place.
      nodes.set(child, key as Node);
      keys.set(child, key as Node);
      record[name] = read(value, child, depth + 1);
    }
    return record;
  }
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
