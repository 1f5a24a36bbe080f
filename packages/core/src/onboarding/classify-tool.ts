import { DATA_CLASS_WORDS, DOING_WORDS, THIRD_PARTY_WORDS, TOOL_RULES, type ToolRule } from "./tool-rules.ts";
import { stem, wordsOf } from "./words.ts";

/** A tool as MCP's `tools/list` gives it. `inputSchema` is MCP's spelling, `input_schema` the API's; both are read. */
export interface Tool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input_schema?: unknown;
  readonly inputSchema?: unknown;
  readonly annotations?: unknown;
}

/**
 * What a tool seems to do. `confidence` is from 0 to 1: 0.9 where verb and object stand in the name, 0.7 where the verb
 * alone does, 0.5 where it takes the description or a parameter to tell, 0.4 where two words speak for different things,
 * 0.1 where nothing tells. A person confirms what is below 0.7.
 */
export interface ToolAction {
  readonly verb: string;
  readonly type: string;
  readonly data_classes: readonly string[];
  readonly confidence: number;
  readonly because: string;
  /** The tool reads, and what it reads may have been written by third parties. */
  readonly reads_third_party: boolean;
}

interface Match {
  readonly rule: ToolRule;
  readonly verb: string;
  readonly noun: string | null;
}

const stemsOf = (text: string): readonly string[] => wordsOf(text).map(stem);
const memo = new Map<string, string>();
const stemOf = (word: string): string => {
  const known = memo.get(word) ?? stem(word);
  memo.set(word, known);
  return known;
};
const firstOf = (list: readonly string[], stems: readonly string[]): string | null =>
  list.find((word) => stems.includes(stemOf(word))) ?? null;

/** The verb of a name stands first, as in send_money or users.create: a later word is its object. */
const LEADING_WORDS_MAX = 2;

const matchIn = (verbs: readonly string[], all: readonly string[], with_noun: boolean): Match | null => {
  for (const rule of TOOL_RULES) {
    if (rule.nouns.length > 0 !== with_noun) continue;
    for (const verb of rule.verbs) {
      if (!verbs.includes(stemOf(verb))) continue;
      const noun = with_noun
        ? firstOf(
            rule.nouns.filter((word) => word !== verb),
            all,
          )
        : null;
      if (!with_noun || noun !== null) return { rule, verb, noun };
    }
  }
  return null;
};

/** Reading verbs first in a name settle it: `list_refunds` refunds nothing. */
const READING = new Set(
  TOOL_RULES.find((rule) => rule.type === "data.read")?.verbs.filter(
    (verb) => verb !== "open" && verb !== "download" && verb !== "load",
  ) ?? [],
);

/** What stands between two things that one tool does, as in check_and_pay or get_or_create. */
const JOINTS = new Set(["and", "or", "then", "n"]);

const property = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;

const parameterNames = (tool: Tool): readonly string[] => {
  const properties = property(tool.input_schema ?? tool.inputSchema, "properties");
  return typeof properties === "object" && properties !== null ? Object.keys(properties).slice(0, 200) : [];
};

const dataClasses = (stems: readonly string[]): string[] =>
  DATA_CLASS_WORDS.filter(([, list]) => firstOf(list, stems) !== null).map(([name]) => name);

interface Verdict {
  readonly type: string;
  readonly confidence: number;
  readonly because: string;
}

const verdictOf = (tool: Tool): Verdict => {
  const name = stemsOf(tool.name);
  const lead = name.slice(0, LEADING_WORDS_MAX);
  const told = stemsOf(tool.description ?? "");
  const first = name[0];
  if (first !== undefined && READING.has(first)) return reading(tool, first, name, told);
  const object = [...name, ...stemsOf(parameterNames(tool).join(" "))];
  const both = matchIn(lead, name, true);
  if (both !== null) return said(both, 0.9, "in the name");
  const alone = matchIn(lead, name, false);
  const helped = matchIn(lead, [...object, ...told.slice(0, 40)], true);
  if (helped !== null && isStricter(helped, alone)) return said(helped, 0.5, "in the name and what is said of it");
  if (alone !== null) return doing(alone, name) ?? said(alone, 0.7, "in the name");
  const verbs = told.slice(0, 12);
  const described = matchIn(verbs, told, true) ?? matchIn(verbs, told, false);
  if (described !== null) return said(described, 0.5, "in the description");
  return {
    type: "other.unclassified",
    confidence: 0.1,
    because: "No word of the name or the description says what it does.",
  };
};

/**
 * For a person to confirm: a name that leads with making or changing a record and goes on with a word for doing more, as
 * create_call. Surely taken for a record, it would overrule an agent that declares a call. Null where no such word stands
 * there, and for messages and calls that are only changed or deleted: they were made before.
 */
const doing = ({ rule, verb }: Match, name: readonly string[]): Verdict | null => {
  if (!rule.type.startsWith("record.") || KEEPING.has(verb)) return null;
  for (const [type, list] of DOING_WORDS) {
    if (type.startsWith("communication.") && rule.type !== "record.create") continue;
    const word = firstOf(list, name);
    if (word === null) continue;
    return { type, confidence: 0.4, because: `"${verb}" in the name makes a record, but "${word}" does more.` };
  }
  return null;
};
/** Verbs of making a record that say that it is one of what was done. */
const KEEPING = new Set(["store", "log"]);

/**
 * A name that begins with reading: it reads, unless it goes on with something else. `check_and_charge_card` charges; what
 * goes on in words that nobody knows, or says otherwise of itself, is for a person to confirm.
 */
const reading = (tool: Tool, first: string, name: readonly string[], told: readonly string[]): Verdict => {
  const joint = name.findIndex((word) => JOINTS.has(word));
  const rest = joint < 0 ? [] : name.slice(joint + 1);
  if (rest.length > 0 && !READING.has(rest[0] ?? "")) {
    const more = verdictOf({ name: rest.join(" "), input_schema: tool.input_schema ?? tool.inputSchema });
    if (more.type !== "other.unclassified")
      return { ...more, confidence: Math.min(more.confidence, 0.7), because: `It reads, and more: ${more.because}` };
    return { type: "data.read", confidence: 0.4, because: `"${first}" begins the name, but it does more than read.` };
  }
  const because = `"${first}" begins the name: it reads.`;
  const does = told.slice(0, 1);
  const other = READING.has(does[0] ?? "") ? null : (matchIn(does, told, true) ?? matchIn(does, told, false));
  if (other !== null && other.rule.type !== "data.read")
    return { type: "data.read", confidence: 0.4, because: `${because} The description begins with "${other.verb}".` };
  return { type: "data.read", confidence: name.length > 1 ? 0.9 : 0.7, because };
};

/** Whether the rule with an object says something other than a mere record or read. */
const isStricter = (helped: Match, alone: Match | null): boolean =>
  alone === null || alone.rule.type.startsWith("record.") || alone.rule.type === "data.read"
    ? helped.rule.type !== alone?.rule.type
    : false;

const said = ({ rule, verb, noun }: Match, confidence: number, where: string): Verdict => ({
  type: rule.type,
  confidence,
  because: `"${verb}"${noun === null ? "" : ` and "${noun}"`} ${where}.`,
});

/** A host's hint that the tool only reads is believed less than its name: it lowers confidence, it never relaxes the type. */
const hinted = (tool: Tool, verdict: Verdict): Verdict => {
  const read_only = property(tool.annotations, "readOnlyHint");
  if (read_only === true && verdict.type === "other.unclassified") {
    return { type: "data.read", confidence: 0.5, because: "The tool is annotated as read-only." };
  }
  const destructive = property(tool.annotations, "destructiveHint") === true && read_only !== true;
  const reads = verdict.type === "data.read";
  const disagrees = (read_only === true && !reads) || ((read_only === false || destructive) && reads);
  if (!disagrees) return verdict;
  return {
    ...verdict,
    confidence: Math.min(verdict.confidence, 0.4),
    because: `${verdict.because} Its ${destructive ? "destructive" : "read-only"} annotation says otherwise.`,
  };
};

/**
 * What a tool seems to do, from the words of its name, description and parameters. Deterministic; a proposal for a person
 * to confirm, never applied by itself. Source: api.md §10 "Intake"; policies.md §6.
 */
export const classifyTool = (tool: Tool): ToolAction => {
  const verdict = hinted(tool, verdictOf(tool));
  const stems = [...stemsOf(tool.name), ...stemsOf(tool.description ?? ""), ...stemsOf(parameterNames(tool).join(" "))];
  return {
    verb: tool.name,
    type: verdict.type,
    data_classes: dataClasses(stems),
    confidence: verdict.confidence,
    because: verdict.because,
    reads_third_party: verdict.type === "data.read" && firstOf(THIRD_PARTY_WORDS, stems) !== null,
  };
};
