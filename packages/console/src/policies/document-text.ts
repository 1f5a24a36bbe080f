/** Converts between YAML in the editor and JSON of the API, and places diagnostics in the YAML. */
import { limits, type PolicyDiagnostic, yamlFinding } from "@countersign/contract";
import { isNode, isScalar, parseDocument, stringify, visit } from "yaml";

/** A document's fields in reading order, because the service sorts its keys. */
export const documentFields: readonly string[] = [
  ...["apiVersion", "kind", "metadata", "name", "title", "description", "tags", "severity", "citations"],
  ...[
    "effective_from",
    "effective_until",
    "spec",
    "match",
    "actions",
    "verbs",
    "agents",
    "exclude",
    "variables",
    "expr",
    ...["counters", "key", "window", "calendar", "zone", "counts", "negative", "adjust", "within"],
  ],
  ...[
    "when",
    "require",
    "effect",
    "on_unknown",
    "risk",
    "add",
    "group",
    "override",
    "facts_max_age",
    "facts_from",
    "message",
  ],
  ...[
    "escalation",
    "reviewers",
    "quorum",
    "timeout",
    "on_timeout",
    "approval_valid_for",
    "after",
    "then",
    "pace",
    "confirm",
    "min_seconds",
    "reason_from",
    "grants",
    "times_max",
    "hours_max",
    "modify_when",
    "modify",
    "op",
    "path",
    "value",
  ],
  ...["suppresses", "explain", "tests", "now", "mode", "human_reviewed", "intent", "facts", "as_of", "expect"],
  ...["verdict", "fired", "modified_content", "unknown_facts"],
];
const rank = (key: string): number =>
  documentFields.includes(key) ? documentFields.indexOf(key) : documentFields.length;

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => rank(a) - rank(b));
  return Object.fromEntries(entries.map(([key, each]) => [key, ordered(each)]));
}

/** Does not fold long lines, so that expressions stay as written. */
export function textOf(document: unknown): string {
  return stringify(ordered(document), { lineWidth: 0 });
}

export interface Mark {
  readonly from: number;
  readonly to: number;
  readonly message: string;
  /** A warning does not prevent saving. */
  readonly severity: "error" | "warning";
}

const mistake = (from: number, to: number, message: string): Mark => ({ from, to, message, severity: "error" });

/** A document, or marks if the text is not valid YAML. */
export type Read =
  | {
      readonly policy: Record<string, unknown>;
      readonly tests: Record<string, unknown>[];
      readonly has_comments: boolean;
    }
  | { readonly marks: readonly Mark[] };

const marks_max = 50;

const depth_max = 500;
/** Lists in lists on one line, or a line indented by 500 spaces. */
const blocksTooDeep = /^(?: *[-?:] ){500}|^ {500}/m;

/** In the API, `tests` is beside the policy. */
export function readText(text: string): Read {
  // Parsing megabytes of YAML would block the page, and the service refuses them.
  if (text.length > limits.body_bytes_max)
    return { marks: [mistake(0, 1, "This is more than 1 MB. The service does not accept it.")] };
  if (nestsTooDeep(text)) return { marks: [mistake(0, text.length, "The document is nested too deeply.")] };
  return readYaml(text);
}

/**
 * Returns whether the text is nested deeper than any policy. The library reads by recursion: at about 800 levels it
 * crashes the page, or reports every open level.
 */
export function nestsTooDeep(text: string): boolean {
  let depth = 0;
  for (const char of text) {
    if (char === "[" || char === "{") depth += 1;
    else if ((char === "]" || char === "}") && depth > 0) depth -= 1;
    if (depth > depth_max) return true;
  }
  return blocksTooDeep.test(text);
}

function readYaml(text: string): Read {
  const parsed = parseDocument(text, { prettyErrors: false });
  if (parsed.errors.length > 0) {
    return {
      marks: parsed.errors.slice(0, marks_max).map((error) => {
        const { message, help } = yamlFinding(error);
        return mistake(error.pos[0], Math.max(error.pos[0] + 1, error.pos[1]), `${message} ${help}`);
      }),
    };
  }
  let value: unknown;
  try {
    value = parsed.toJS({ maxAliasCount: 20 });
  } catch (error) {
    // An alias without an anchor (such as `*.transfer` without quotes), or one that would expand a short text
    // enormously.
    const at = /\*(\S+)/.exec(text)?.index ?? 0;
    return {
      marks: [mistake(at, at + 1, `${(error as Error).message}. Quote a text that begins with *.`)],
    };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return {
      marks: [mistake(0, text.length, "Write one policy document: apiVersion, kind, metadata, spec.")],
    };
  const { tests, ...policy } = value as Record<string, unknown>;
  return {
    policy,
    tests: Array.isArray(tests) ? (tests as Record<string, unknown>[]) : [],
    has_comments: hasComments(parsed),
  };
}

function hasComments(parsed: ReturnType<typeof parseDocument>): boolean {
  let found = Boolean(parsed.commentBefore || parsed.comment);
  visit(parsed, (_, node) => {
    if (!isNode(node) || !(node.commentBefore || node.comment)) return undefined;
    found = true;
    return visit.BREAK;
  });
  return found;
}

const partsOf = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

/** Returns the places of the API's diagnostics in `text`. They belong to `sent`. */
export function marksOf(
  text: string,
  sent: unknown,
  diagnostics: readonly PolicyDiagnostic[],
  severity: Mark["severity"],
): Mark[] {
  const parsed = parseDocument(text, { prettyErrors: false });
  const sentText = JSON.stringify(sent, null, 2);
  return diagnostics.map((each) => {
    const said = { message: each.help === null ? each.message : `${each.message} ${each.help}`, severity };
    const range = rangeOf(parsed, partsOf(each.path));
    if (range === null) return { from: 0, to: Math.min(1, text.length), ...said };
    const { from, to, node } = range;
    const offset = offsetInValue(sentText, each);
    if (!isScalar(node) || offset === null || typeof node.value !== "string") return { from, to, ...said };
    const at = placeInScalar(text.slice(from, to), String(node.type), node.value, offset);
    if (at === null) return { from, to, ...said };
    return { from: from + at, to: Math.min(to, Math.max(from + at + 1, endOfWord(text, from + at))), ...said };
  });
}

function endOfWord(text: string, from: number): number {
  return from + (/^[\w.]*/.exec(text.slice(from))?.[0].length ?? 0);
}

/** Returns the range of the node at a path, or of the nearest existing one above. */
function rangeOf(parsed: ReturnType<typeof parseDocument>, path: readonly string[]) {
  for (let length = path.length; length >= 0; length -= 1) {
    const at = path.slice(0, length).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    const node =
      length === 0 ? parsed.contents : (parsed.getIn(at, true) as { range?: [number, number, number] } | undefined);
    const range = node?.range;
    if (node != null && range != null) return { from: range[0], to: Math.max(range[0] + 1, range[1]), node };
  }
  return null;
}

/**
 * Returns the offset of a diagnostic within its text value. Its position counts in the checked JSON, indented by two
 * spaces.
 */
function offsetInValue(sentText: string, { line, column }: PolicyDiagnostic): number | null {
  if (line === null || column === null) return null;
  const written = sentText.split("\n")[line - 1];
  if (written === undefined) return null;
  const begin = /^\s*(?:"(?:[^"\\]|\\.)*":\s)?/.exec(written)?.[0].length ?? 0;
  if (written[begin] !== '"' || column - 1 <= begin) return null;
  try {
    return (JSON.parse(`"${written.slice(begin + 1, column - 1).replace(/"$/, "")}"`) as string).length;
  } catch {
    return null;
  }
}

/** Returns the same offset in a quoted text, where an escape is one character; null if it spans several lines. */
function placeInQuotes(source: string, offset: number): number | null {
  if (source.includes("\n")) return null;
  const unit = source.startsWith("'") ? /''|./y : /\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\.|./y;
  unit.lastIndex = 1;
  for (let count = 0; count < offset && unit.lastIndex < source.length - 1; count += 1) unit.exec(source);
  return Math.min(unit.lastIndex, source.length - 1);
}

/** Returns the place of a value's character in the source of its scalar; null if unknown. */
function placeInScalar(source: string, type: string, value: string, offset: number): number | null {
  if (type === "PLAIN") return source.includes("\n") ? null : Math.min(offset, source.length - 1);
  if (type === "QUOTE_DOUBLE" || type === "QUOTE_SINGLE") return placeInQuotes(source, offset);
  if (type !== "BLOCK_LITERAL") return null;
  const before = value.slice(0, offset).split("\n");
  const lines = source.split("\n");
  const line = lines[before.length];
  if (line === undefined) return null;
  const indent = /^\s*/.exec(lines[1] ?? "")?.[0].length ?? 0;
  const start = lines.slice(0, before.length).reduce((sum, each) => sum + each.length + 1, 0);
  return Math.min(start + indent + (before.at(-1)?.length ?? 0), source.length - 1);
}

export const starter = `apiVersion: countersign/v1
kind: Policy
metadata:
  name: large-payments
  title: Payments above 1,000 USD wait for a person
spec:
  match:
    actions: ["payment.*"]
  when: params.amount_usd > 1000.0
  effect: escalate
  on_unknown: escalate
  risk: {add: 0.4, group: amount}
  message: "Amount {{params.amount_usd}} is above 1,000 USD"
`;
