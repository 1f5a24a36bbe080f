import {
  dataClassPairs,
  dataClassWords,
  doingWords,
  LAST_VERBS,
  nounVerbs,
  readingNouns,
  THIRD_PARTY_WORDS,
  type ToolRule,
  toolRules,
} from "./tool-rules.ts";
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
 * alone does or stands behind other words, 0.5 where it takes the description or a parameter to tell or the verb means other
 * things, too, 0.4 where two words speak for different things,
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
const leading_words_max = 2;

const matchIn = (verbs: readonly string[], all: readonly string[], with_noun: boolean): Match | null => {
  for (const rule of toolRules) {
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
  toolRules
    .find((rule) => rule.type === "data.read")
    ?.verbs.filter((verb) => verb !== "download" && verb !== "load")
    .map(stem) ?? [],
);

/** Verbs of every rule that does more than read. */
const ACTING = new Set(toolRules.flatMap(({ type, verbs }) => (type === "data.read" ? [] : verbs.map(stem))));
const LAST = new Set(LAST_VERBS.map(stem));
const secondNouns = new Set([...nounVerbs].map(stem));
const alsoNouns = new Set([...readingNouns].map(stem));
const READS: Match = {
  rule: toolRules.find(({ type }) => type === "data.read") ?? {
    type: "data.read",
    verbs: [],
    nouns: [],
    unsure: false,
  },
  verb: "",
  noun: null,
};

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

const dataClasses = (stems: readonly string[]): string[] => {
  const paired = new Set(
    dataClassPairs
      .filter(([, list, others]) => {
        const one = firstOf(list, stems);
        return (
          one !== null &&
          firstOf(
            others.filter((other) => other !== one),
            stems,
          ) !== null
        );
      })
      .map(([name]) => name),
  );
  return dataClassWords
    .filter(([name, list]) => paired.has(name) || firstOf(list, stems) !== null)
    .map(([name]) => name);
};

interface Verdict {
  readonly type: string;
  readonly confidence: number;
  readonly because: string;
}

/** "mcp__github__create_issue" is create_issue: what a host puts before a name says nothing of the tool. */
const ownName = (name: readonly string[]): readonly string[] => {
  if (name[0] === "function" && name.length > 1) return name.slice(1);
  if (name[0] !== "mcp" || name.length < 3) return name;
  return ACTING.has(name[1] ?? "") || READING.has(name[1] ?? "") ? name.slice(1) : name.slice(2);
};

const isVerb = (word: string): boolean => ACTING.has(word) || READING.has(word);

/**
 * The words of a name that may be its verb: the first two and, where it is hardly ever a noun, the last; behind two that are
 * none, as in google_calendar_create_event, the next that is one.
 */
const verbsOf = (name: readonly string[]): readonly string[] => {
  const [first = "", second = ""] = name;
  if (name.length === 1) return [first];
  const last = name.at(-1) ?? "";
  const object = second === "log" || (isVerb(first) && secondNouns.has(second));
  const verbs = [
    first,
    ...(object ? [] : [second]),
    ...(name.length > leading_words_max && LAST.has(last) ? [last] : []),
  ];
  const later = verbs.some(isVerb) ? undefined : name.slice(2).find((word) => isVerb(word) && !secondNouns.has(word));
  return later === undefined ? verbs : [...verbs, later];
};

const verdictOf = (tool: Tool): Verdict => {
  const name = ownName(stemsOf(tool.name));
  const told = stemsOf(tool.description ?? "");
  const joined = jointOf(name);
  return joined === null ? verdictOn(tool, name, told) : verdictOnParts(tool, joined);
};

/** The parts of a name that says several things, as check_and_pay does, or null. */
const jointOf = (name: readonly string[]): (readonly string[])[] | null => {
  const parts: string[][] = [[]];
  for (const word of name) {
    if (JOINTS.has(word)) parts.push([]);
    else parts.at(-1)?.push(word);
  }
  const full = parts.filter((part) => part.length > 0);
  return full.length > 1 ? full : null;
};

/** What is done in any part is done; where a part says nothing, neither does the whole. */
const verdictOnParts = (tool: Tool, parts: readonly (readonly string[])[]): Verdict => {
  const all = parts.map((part) => verdictOn({ ...tool, description: undefined }, part, []));
  const acting = all
    .filter(({ type }) => type !== "data.read" && type !== "other.unclassified")
    .sort((a, b) => rankOf(a.type) - rankOf(b.type))[0];
  if (acting !== undefined) {
    const because = all.some(({ type }) => type === "data.read")
      ? `It reads, and more: ${acting.because}`
      : acting.because;
    const known = all.every(({ type }) => type !== "other.unclassified");
    return { ...acting, confidence: Math.min(acting.confidence, known ? 0.7 : 0.5), because };
  }
  const reads = all.every(({ type }) => type === "data.read");
  if (reads) return { type: "data.read", confidence: 0.9, because: `"${parts[0]?.[0]}" begins the name: it reads.` };
  return {
    type: "other.unclassified",
    confidence: 0.1,
    because: "The name says that it does several things, not all known.",
  };
};
const rankOf = (type: string): number => toolRules.findIndex((rule) => rule.type === type);

const verdictOn = (tool: Tool, name: readonly string[], told: readonly string[]): Verdict => {
  const first = name[0];
  if (first !== undefined && READING.has(first)) return reading(first, name, told);
  const lead = verbsOf(name);
  const object = [...name, ...stemsOf(parameterNames(tool).join(" "))];
  const both = matchIn(lead, name, true);
  if (both !== null) return said(both, name.slice(0, leading_words_max).some(isVerb) ? 0.9 : 0.7, "in the name");
  const alone = matchIn(lead, name, false);
  if (alone !== null && alone.rule.type !== "data.read" && endsReading(name))
    return said({ ...READS, verb: name.at(-1) ?? "" }, 0.5, "at the name's end");
  const helped = matchIn(lead, [...object, ...told.slice(0, 40)], true);
  if (helped !== null && isStricter(helped, alone)) return said(helped, 0.5, "in the name and what is said of it");
  if (alone !== null) return doing(alone, name) ?? said(alone, 0.7, "in the name");
  return describedAs(told) ?? nothingTold;
};
const nothingTold: Verdict = {
  type: "other.unclassified",
  confidence: 0.1,
  because: "No word of the name or the description says what it does.",
};

/** What the description says, by the first verb in it; with a second after "and", whichever acts. */
const describedAs = (told: readonly string[]): Verdict | null => {
  const start = told.slice(0, 12);
  const first = start.find((word) => ACTING.has(word) || READING.has(word));
  if (first === undefined) return null;
  const more = start.filter((word, at) => ACTING.has(word) && JOINTS.has(start[at - 1] ?? ""));
  const verbs = READING.has(first) ? [...more, first] : [first, ...more];
  const match = matchIn(verbs, told, true) ?? matchIn(verbs, told, false);
  return match === null ? null : said(match, 0.5, "in the description");
};

/**
 * For a person to confirm: a name that leads with making or changing a record and goes on with a word for doing more, as
 * create_call. Surely taken for a record, it would overrule an agent that declares a call. Null where no such word stands
 * there, and for messages and calls that are only changed or deleted: they were made before.
 */
const doing = ({ rule, verb }: Match, name: readonly string[]): Verdict | null => {
  if (!rule.type.startsWith("record.") || KEEPING.has(verb)) return null;
  for (const [type, list] of doingWords) {
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
 * A name that begins with reading: it reads, unless it goes on with something else. `status_update` and `read_write_file` act,
 * and so does what says so of itself: for a person to confirm.
 */
const reading = (first: string, name: readonly string[], told: readonly string[]): Verdict => {
  const because = `"${first}" begins the name: it reads.`;
  const last = name.at(-1) ?? "";
  const second = name[1] ?? "";
  if (first === "check" && (second === "in" || second === "out"))
    return { type: "record.update", confidence: 0.5, because: `"check ${second}" in the name.` };
  const sent = sentTo.has(name[name.indexOf("to") + 1] ?? "") && name.includes("to");
  if (sent) return { type: "data.share", confidence: 0.4, because: `${because} But it goes on to "${name.at(-1)}".` };
  if (first === "list" && [...name, ...told.slice(0, 12)].some((word) => OFFERED.has(word)))
    return { type: "record.create", confidence: 0.4, because: `"list" in the name, where something is for sale.` };
  const verb = actingIn(first, second, last);
  const acts = verb === null || name.length < 2 ? null : (matchIn([verb], name, true) ?? matchIn([verb], name, false));
  if (acts !== null) return said(acts, 0.4, `in the name, though "${first}" begins it`);
  const described = actsBy(told);
  if (described !== null)
    return {
      ...said(described, 0.4, "in the description"),
      because: `${because} But "${described.verb}" in the description.`,
    };
  return { type: "data.read", confidence: name.length > 1 ? 0.9 : 0.7, because };
};
/** What the description of a reading name says it does besides: its first word, or one after "and", that is hardly a noun. */
const actsBy = (told: readonly string[]): Match | null => {
  const acting = told
    .slice(0, 12)
    .filter(
      (word, at, start) => (at === 0 || JOINTS.has(start[at - 1] ?? "")) && ACTING.has(word) && !objectsFirst.has(word),
    );
  return matchIn(acting, told, true) ?? matchIn(acting, told, false);
};

/** Where a report or a scan goes, as in scan_to_email. */
const sentTo = new Set(["email", "slack", "team", "channel", "printer", "webhook", "ftp", "sms", "public"]);
const OFFERED = new Set(["sale", "marketplace", "auction"]);

/** The word of a name that acts, though it begins with a word that reads. */
const actingIn = (first: string, second: string, last: string): string | null => {
  if (alsoNouns.has(first) && LAST.has(last)) return last;
  if (noVerbs.has(first) && ACTING.has(last)) return last;
  return LAST.has(second) && !oftenNouns.has(second) ? second : null;
};
const noVerbs = new Set(["status", "history", "screenshot"].map(stem));

/** "get_update_history" and "get_run" read. */
const oftenNouns = new Set(["update", "set", "run"]);

/** "order_search" and "charge_item_list" read, though they begin with a noun that is a verb as well. */
const endsReading = (name: readonly string[]): boolean =>
  name.length > 1 &&
  READING.has(name.at(-1) ?? "") &&
  objectsFirst.has(name[0] ?? "") &&
  name.every((word) => objectsFirst.has(word) || !ACTING.has(word));
const objectsFirst = new Set([...nounVerbs, "charge", "refund", "export", "backup", "call", "transfer"].map(stem));

/** Whether the rule with an object says something other than a mere record or read. */
const isStricter = (helped: Match, alone: Match | null): boolean =>
  alone === null || alone.rule.type.startsWith("record.") || alone.rule.type === "data.read"
    ? helped.rule.type !== alone?.rule.type
    : false;

const said = ({ rule, verb, noun }: Match, confidence: number, where: string): Verdict => ({
  type: rule.type,
  confidence: rule.unsure ? Math.min(confidence, 0.5) : confidence,
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
    // Who says that a reading name changes something is believed.
    type: reads ? "other.unclassified" : verdict.type,
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
