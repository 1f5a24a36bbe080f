import type { ParameterType } from "@countersign/contract";
import { parametersOf } from "./tool-parameters.ts";
import {
  dataClassRules,
  joints,
  lastVerbs,
  nameRules,
  neverVerbs,
  nounsAfterReading,
  nounsBeforeReading,
  nounVerbs,
  objectRules,
  readingNouns,
  thirdPartyWords,
  verbRules,
  type WordRule,
} from "./tool-rules.ts";
import { stem, wordsOf } from "./words.ts";

/** MCP writes `inputSchema`, the API `input_schema`. */
export interface Tool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input_schema?: unknown;
  readonly inputSchema?: unknown;
  readonly annotations?: unknown;
}

/**
 * The probable action of a tool. A person must confirm a `confidence` below 0.7:
 * - 0.9 the name contains a verb and its object
 * - 0.7 the name contains the verb alone, or behind other words
 * - 0.5 found only in the description or a parameter, or the verb has other meanings
 * - 0.4 two words or an annotation contradict each other
 * - 0.1 not found
 */
export interface ToolAction {
  readonly verb: string;
  readonly type: string;
  readonly data_classes: readonly string[];
  readonly confidence: number;
  readonly because: string;
  readonly parameters?: Readonly<Record<string, ParameterType>>;
  /** Third parties may have written what the tool reads. */
  readonly reads_third_party: boolean;
}

type Stems = readonly string[];
type Verdict = Pick<ToolAction, "type" | "confidence" | "because">;

interface Match {
  readonly rule: WordRule<string>;
  readonly word: string;
  readonly beside: string | null;
}

const unknown = "other.unclassified";
const actionRules = [...objectRules, ...verbRules];
/** Verbs of reading. "load" and "open" have other rules, because they may change something. */
const reading = verbRules.find(({ means }) => means === "data.read")?.words ?? new Map();
const acting = new Set(actionRules.flatMap((rule) => [...rule.words.keys()]).filter((word) => !reading.has(word)));
/** Types from strict to harmless. Verbs of records rank them, not the few objects. */
const ranks: readonly string[] = [...objectRules.filter(({ means }) => !means.startsWith("record.")), ...verbRules].map(
  ({ means }) => means,
);
const isVerb = (word: string): boolean => acting.has(word) || reading.has(word);
const stemsOf = (text: string): Stems => wordsOf(text).map(stem);

/** Returns the match of one word of the rule in `words`, with a word beside it in `all`. */
const fit = (rule: WordRule<string>, words: Stems, all: Stems): Match | null => {
  for (const one of words) {
    const word = rule.words.get(one);
    if (word === undefined) continue;
    if (rule.beside.size === 0) return { rule, word, beside: null };
    const other = all.find((each) => each !== one && rule.beside.has(each));
    if (other !== undefined) return { rule, word, beside: rule.beside.get(other) ?? null };
  }
  return null;
};

const firstFit = (rules: readonly WordRule<string>[], words: Stems, all: Stems): Match | null => {
  for (const rule of rules) {
    const match = fit(rule, words, all);
    if (match !== null) return match;
  }
  return null;
};

const said = ({ rule, word, beside }: Match, confidence: number, where: string): Verdict => ({
  type: rule.means,
  confidence: rule.sure ? confidence : Math.min(confidence, 0.5),
  because: `"${word}"${beside === null ? "" : ` and "${beside}"`} ${where}.`,
});

/** Removes a host's prefix: "mcp__github__create_issue" becomes create_issue. */
const ownName = (name: Stems): Stems => {
  if (name[0] === "function" && name.length > 1) return name.slice(1);
  if (name[0] !== "mcp" || name.length < 3) return name;
  return name.slice(isVerb(name[1] ?? "") ? 1 : 2);
};

const verbsOf = (name: Stems): Stems => {
  const [first = "", second = ""] = name;
  const last = name.at(-1) ?? "";
  if (reading.has(first)) {
    const acts = name.slice(1).filter((word, at) => {
      if (word === "to") return true;
      if (at === name.length - 2 && neverVerbs.has(first)) return acting.has(word);
      const plain = (at === 0 && !nounsAfterReading.has(word)) || (at === name.length - 2 && readingNouns.has(first));
      return plain && lastVerbs.has(word);
    });
    return [first, ...acts];
  }
  const object = second === "log" || (isVerb(first) && nounVerbs.has(second));
  const verbs = [first, ...(object ? [] : [second]), ...(lastVerbs.has(last) ? [last] : [])];
  const later = verbs.some(isVerb) ? undefined : name.slice(2).find((word) => isVerb(word) && !nounVerbs.has(word));
  return later === undefined ? verbs : [...verbs, later];
};

/** After a name that reads, only the first verb or one after "and" counts. */
const describedBy = (told: Stems, name_reads: boolean): Match | null => {
  const start = told.slice(0, 12);
  const acts = (word: string) => acting.has(word) && !(name_reads && nounsBeforeReading.has(word));
  const first = name_reads ? start.slice(0, 1).find(acts) : start.find(isVerb);
  const verbs = start.filter((word, at) => joints.has(start[at - 1] ?? "") && acts(word));
  if (first !== undefined) verbs.push(first);
  return firstFit(objectRules, verbs, told) ?? firstFit(verbRules, verbs, told);
};

/** Returns true for an object before a reading verb: order_search. */
const endsReading = (name: Stems): boolean =>
  nounsBeforeReading.has(name[0] ?? "") &&
  reading.has(name.at(-1) ?? "") &&
  name.every((word) => nounsBeforeReading.has(word) || !acting.has(word));

const verdictOn = (name: Stems, told: Stems, parameters: Stems): Verdict => {
  const verbs = verbsOf(name);
  const name_reads = reading.has(name[0] ?? "");
  const objects = name_reads ? [...name, ...told.slice(0, 12)] : name;
  const inName = firstFit(objectRules, verbs, objects) ?? firstFit(nameRules, verbs, name);
  const match = inName ?? firstFit(verbRules, verbs, name);
  const acts = match !== null && match.rule.means !== "data.read";
  if (inName === null && acts && endsReading(name))
    return { type: "data.read", confidence: 0.5, because: `"${name.at(-1)}" at the name's end.` };
  if (name_reads) {
    if (acts) return said(match, 0.4, `in the name, though "${name[0]}" begins it`);
    const described = describedBy(told, true);
    if (described !== null) return said(described, 0.4, `in the description, though "${name[0]}" begins the name`);
    return { type: "data.read", confidence: name.length > 1 ? 0.9 : 0.7, because: `"${name[0]}" begins the name.` };
  }
  if (inName !== null) return said(inName, name.slice(0, 2).some(isVerb) ? 0.9 : 0.7, "in the name");
  if (!acts || match.rule.means.startsWith("record.")) {
    const helped = firstFit(objectRules, verbs, [...name, ...parameters, ...told.slice(0, 40)]);
    if (helped !== null && helped.rule.means !== match?.rule.means)
      return said(helped, 0.5, "in the name and the description");
  }
  if (match !== null) return said(match, 0.7, "in the name");
  const described = describedBy(told, false);
  if (described !== null) return said(described, 0.5, "in the description");
  return { type: unknown, confidence: 0.1, because: "No word of the name or the description is known." };
};

/** Splits the name of several actions: check_and_pay. */
const partsOf = (name: Stems): readonly Stems[] => {
  const parts: string[][] = [[]];
  for (const word of name) {
    if (joints.has(word)) parts.push([]);
    else parts.at(-1)?.push(word);
  }
  return parts.filter((part) => part.length > 0);
};

/** The strictest part decides. A part without a match makes the whole uncertain. */
const verdictOnParts = (parts: readonly Stems[], parameters: Stems): Verdict => {
  const all = parts.map((part) => verdictOn(part, [], parameters));
  const rank = ({ type }: Verdict) => ranks.indexOf(type);
  const [strictest] = all.filter(({ type }) => type !== unknown).sort((a, b) => rank(a) - rank(b));
  const known = all.every(({ type }) => type !== unknown);
  if (strictest === undefined || (strictest.type === "data.read" && !known))
    return { type: unknown, confidence: 0.1, because: "The name has several actions, and not all of them are known." };
  if (strictest.type === "data.read") return { ...strictest, confidence: 0.9 };
  const because = all.some(({ type }) => type === "data.read")
    ? `It reads, and more: ${strictest.because}`
    : strictest.because;
  return { ...strictest, confidence: Math.min(strictest.confidence, known ? 0.7 : 0.5), because };
};

const property = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;

const parameterNames = (tool: Tool): readonly string[] => {
  const properties = property(tool.input_schema ?? tool.inputSchema, "properties");
  return typeof properties === "object" && properties !== null ? Object.keys(properties).slice(0, 200) : [];
};

/** Hints are less reliable than the name: they lower confidence and never relax the type. */
const hinted = (tool: Tool, verdict: Verdict): Verdict => {
  const read_only = property(tool.annotations, "readOnlyHint");
  if (read_only === true && verdict.type === unknown) {
    return { type: "data.read", confidence: 0.5, because: "The tool is annotated as read-only." };
  }
  const destructive = property(tool.annotations, "destructiveHint") === true && read_only !== true;
  const reads = verdict.type === "data.read";
  const disagrees = (read_only === true && !reads) || ((read_only === false || destructive) && reads);
  if (!disagrees) return verdict;
  return {
    // Believes a hint that the tool changes something.
    type: reads ? unknown : verdict.type,
    confidence: Math.min(verdict.confidence, 0.4),
    because: `${verdict.because} Its ${destructive ? "destructive" : "read-only"} annotation says otherwise.`,
  };
};

/** Proposes an action for a person to confirm. Deterministic. */
export const classifyTool = (tool: Tool): ToolAction => {
  const full = stemsOf(tool.name);
  const told = stemsOf(tool.description ?? "");
  const parameters = stemsOf(parameterNames(tool).join(" "));
  const name = ownName(full);
  const parts = partsOf(name);
  const verdict = hinted(
    tool,
    parts.length > 1 ? verdictOnParts(parts, parameters) : verdictOn(name, told, parameters),
  );
  const stems = [...new Set([...full, ...told, ...parameters])];
  const data_classes = dataClassRules.filter((rule) => fit(rule, stems, stems) !== null).map(({ means }) => means);
  return {
    verb: tool.name,
    ...verdict,
    data_classes: [...new Set(data_classes)],
    ...parametersOf(tool),
    reads_third_party: verdict.type === "data.read" && stems.some((word) => thirdPartyWords.has(word)),
  };
};
