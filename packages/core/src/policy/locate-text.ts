import { isExactNumber, yaml_quoting_help, yamlFinding } from "@countersign/contract";
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, parseDocument, Scalar } from "yaml";
import { pointerToken } from "../values/json-patch.ts";
import { collectFindings } from "./check/findings.ts";
import { depth_max, diagnose, diagnosticAt, type Located, type Place, shown, type Within } from "./located.ts";

const tooDeep = {
  code: "syntax",
  message: "The document is nested too deeply.",
  help: `At most ${depth_max} levels.`,
};

/**
 * Reads one YAML or JSON document. Reports anchors, tags, duplicate keys, `__proto__`, infinite and rounded numbers.
 * Never throws.
 */
export function locateText(text: string): Located {
  const reader = new TextReader(text);
  const parsed = parseYaml(text);
  if (parsed === null) {
    return { value: null, diagnostics: [diagnosticAt("", { line: 1, column: 1 }, tooDeep)], placeOf: reader.placeOf };
  }
  for (const error of parsed.errors) {
    if (reader.findings.full()) break;
    reader.findings.add(() =>
      diagnosticAt("", reader.placeAt(error.pos[0]), { code: "syntax", ...yamlFinding(error) }),
    );
  }
  const value = parsed.errors.length > 0 ? null : reader.read(parsed.contents, "", 0);
  return { value, diagnostics: reader.findings.list(), placeOf: reader.placeOf };
}

/** Returns null if deep nesting exhausts the parser's stack. */
function parseYaml(text: string): Document | null {
  try {
    return parseDocument(text, {
      version: "1.2",
      // The library's duplicate check takes quadratic time; `readMap` does it.
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "error",
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}

class TextReader {
  readonly findings = collectFindings();
  private readonly text: string;
  /** The library's count misses lines of a broken document. */
  private readonly lines: readonly number[];
  private readonly nodes = new Map<string, Node>();
  private readonly keys = new Map<string, Node>();

  constructor(text: string) {
    this.text = text;
    this.lines = lineStarts(text);
  }

  placeAt(offset: number): Place {
    return placeIn(this.lines, Math.min(offset, this.text.length));
  }

  readonly placeOf = (path: string, within?: Within): Place => {
    const node = (within === "key" ? this.keys.get(path) : undefined) ?? nearest(this.nodes, path);
    if (!node?.range) return { line: null, column: null };
    return this.placeAt(typeof within === "number" ? inText(this.text, node, within) : node.range[0]);
  };

  read(node: unknown, path: string, depth: number): unknown {
    if (node === null || node === undefined) return null;
    this.nodes.set(path, node as Node);
    if (depth > depth_max) return this.refuse(path, tooDeep.message, tooDeep.help);
    if (isAlias(node)) return this.refuse(path, "Aliases are not supported.", "Write the value out.");
    const { tag, anchor } = node as { tag?: string; anchor?: string };
    if (anchor !== undefined) return this.refuse(path, "Anchors are not supported.", "Write the value out.");
    if (tag !== undefined && !/^tag:yaml\.org,2002:(map|seq|str|int|float|bool|null)$/.test(tag)) {
      return this.refuse(path, `The tag ${tag} is not supported.`, yaml_quoting_help);
    }
    if (isMap(node)) return this.readMap(node.items as Pair[], path, depth);
    if (isSeq(node)) return node.items.map((item, index) => this.read(item, `${path}/${index}`, depth + 1));
    return isScalar(node)
      ? this.readScalar(node, path)
      : this.refuse(path, "This is not a value.", "Write a JSON value.");
  }

  private readScalar({ value, source }: Scalar, path: string): unknown {
    if (typeof value === "number" && !Number.isFinite(value))
      return this.refuse(path, "JSON has no such number.", "Write a finite number.");
    if (typeof value === "number" && source !== undefined && isRounded(source))
      return this.refuse(path, "This number has too many digits to be stored exactly.", "Write it as a text.");
    if (typeof value === "string" && /\p{Surrogate}/u.test(value))
      return this.refuse(path, "A text contains half of a surrogate pair.", "Write the whole character.");
    if (typeof value === "string" && value.includes("\0"))
      return this.refuse(path, "A text contains a NUL character.", "Leave it out.");
    return value;
  }

  private readMap(items: readonly Pair[], path: string, depth: number): Record<string, unknown> {
    const record: Record<string, unknown> = {};
    for (const { key, value } of items) {
      const name = isScalar(key) ? String(key.value) : null;
      if (name === null || name === "__proto__") {
        this.refuse(path, "This key is not supported.", "A key is a plain text other than __proto__.");
        continue;
      }
      const child = `${path}/${pointerToken(name)}`;
      // A null value may have no node, so its key is used.
      this.nodes.set(child, key as Node);
      this.keys.set(child, key as Node);
      if (Object.hasOwn(record, name))
        this.refuse(child, `The key ${shown(name)} occurs twice.`, "Keep one of the two.", "key");
      record[name] = this.read(value, child, depth + 1);
    }
    return record;
  }

  private refuse(path: string, message: string, help: string, within?: "key"): null {
    this.findings.add(() => diagnose(this, path, { code: "syntax", message, help }, within));
    return null;
  }
}

function isRounded(written: string): boolean {
  const unsigned = written.replace(/^\+/, "");
  return /^[-.\d]/.test(unsigned) && !/^-?0[xo]/.test(unsigned) && !isExactNumber(unsigned);
}

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
 * Maps an offset in a string value to the document. Walks both texts, because YAML folds white space and escapes
 * characters.
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
      // A space may be a line break and indentation in the document.
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
