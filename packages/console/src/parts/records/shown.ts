/** Redacts intents and decisions for people: a redacted value appears nowhere. */
import {
  compacted,
  type Decision,
  hiddenTexts,
  type IntentAnswer,
  type IntentRecord,
  identifierOf,
  struckOut,
  type TextSpan,
  textsOf,
  type UsedFact,
  type UsedFacts,
  wholeSpan,
} from "@countersign/contract";
import { atPointer, sameJson, withPointer } from "./json-lines.ts";

const withheld_text = "(redacted by a rule)";
const struck_text = "[redacted]";
const mask_text = "[masked]";

/** Removes redacted values even where a reviewer wrote one into another field. */
export function shownAnswer(answer: IntentAnswer): IntentAnswer {
  const { facts, decision } = answer;
  const intent = { ...answer.intent, withheld: withheldHere(answer.intent) };
  const { modified_content } = decision;
  const left = intent.withheld.filter((path) => {
    const there = atPointer(modified_content, path);
    return there !== undefined && sameJson(there, atPointer(intent.payload?.content, path));
  });
  const redaction = redactionOf(intent);
  const shown = struckFrom(without(modified_content, left), redaction) as Decision["modified_content"];
  const known = shownFacts(facts, redaction.hidden);
  return { ...answer, intent: shownIntent(intent), facts: known, decision: { ...decision, modified_content: shown } };
}

/**
 * Removes redacted values from all fields, because an agent may repeat them anywhere. The agent's id, the type and the
 * verb stay, as in events.
 */
export function shownIntent<T extends IntentRecord>(intent: T): T {
  const { agent, action, payload, decided_as, estimated_impact: impact, data_classes } = intent;
  const withheld = withheldHere(intent);
  if (withheld.length === 0) return intent;
  const content = without(payload?.content, withheld) as Record<string, unknown>;
  const hidden = hiddenTexts(payload?.content, content);
  const clean = (text: string) => cleaned(text, hidden);
  const target = Object.entries(action.target ?? {}).map(([name, text]) => [name, clean(text)]);
  const { id, ...said } = agent;
  return {
    ...intent,
    agent: { id, ...Object.fromEntries(Object.entries(said).map(([name, text]) => [name, clean(text)])) },
    decided_as: { ...decided_as, data_classes: decided_as.data_classes.map(clean) },
    ...(data_classes === undefined ? {} : { data_classes: data_classes.map(clean) }),
    ...(impact?.regulatory_domains === undefined
      ? {}
      : { estimated_impact: { ...impact, regulatory_domains: impact.regulatory_domains.map(clean) } }),
    action: action.target === undefined ? action : { ...action, target: Object.fromEntries(target) },
    payload: {
      ...payload,
      content,
      ...(payload?.summary === undefined ? {} : { summary: clean(payload.summary) }),
    },
  };
}

/**
 * Removes redacted values from texts and names. Removes a number only if it identifies a person: a balance with the
 * digits of a redacted amount stays, because the verdict depends on it.
 */
function shownFacts(facts: UsedFacts, hidden: readonly string[]): UsedFacts {
  if (hidden.length === 0) return facts;
  const numbers = new Set(hidden.filter((each) => identifierOf(each) !== null));
  const quoted = (value: unknown): unknown => {
    if (typeof value === "string") return cleaned(value, hidden);
    if (typeof value === "number") return numbers.has(String(value)) ? struck_text : value;
    if (Array.isArray(value)) return value.map(quoted);
    return typeof value === "object" && value !== null ? named(value, (name) => cleaned(name, hidden), quoted) : value;
  };
  return named(
    facts,
    (category) => category,
    (fields) =>
      named(
        fields as object,
        (name) => cleaned(name, hidden),
        (fact) => {
          const { value, ...origin } = fact as UsedFact;
          return value === undefined ? origin : { ...origin, value: quoted(value) };
        },
      ),
  ) as UsedFacts;
}

/**
 * Returns the places to redact. Values that the service masked stay, so that an edit can leave them unchanged. The
 * submitter gets values unmasked.
 */
function withheldHere({ withheld, masked = [], payload }: IntentRecord): string[] {
  const here = new Set(masked.filter((path) => String(atPointer(payload?.content, path)).includes(mask_text)));
  return withheld.filter((path) => !here.has(path));
}

interface Redaction {
  readonly hidden: readonly string[];
  readonly shown: ReadonlySet<string>;
}

function redactionOf({ payload, withheld }: IntentRecord): Redaction {
  const shown = without(payload?.content, withheld);
  return { hidden: hiddenTexts(payload?.content, shown), shown: new Set([...textsOf(shown), ...namesIn(shown)]) };
}

function namesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const deeper = Object.values(value).flatMap(namesIn);
  return Array.isArray(value) ? deeper : [...Object.keys(value), ...deeper];
}

/**
 * Removes redacted texts from a JSON value. A text that the parameters show stays, even if it contains a redacted one.
 * Otherwise an editor would think that it is not executed, and drop it.
 */
function struckFrom(value: unknown, redaction: Redaction): unknown {
  if (redaction.hidden.length === 0) return value;
  const struck = (text: string) => (redaction.shown.has(text) ? text : cleaned(text, redaction.hidden));
  if (typeof value === "string" || typeof value === "number") {
    const left = struck(String(value));
    return left === String(value) ? value : left;
  }
  if (Array.isArray(value)) return value.map((item) => struckFrom(item, redaction));
  if (typeof value !== "object" || value === null) return value;
  return named(value, struck, (item) => struckFrom(item, redaction));
}

/** Returns an object with new names and items. Numbers equal names, as the service does. */
function named(value: object, name: (name: string) => string, item: (item: unknown) => unknown): object {
  const times = new Map<string, number>();
  return Object.fromEntries(
    Object.entries(value).map(([before, each]) => {
      const left = name(before);
      const time = (times.get(left) ?? 0) + 1;
      times.set(left, time);
      return [time === 1 ? left : `${left} (${time})`, item(each)];
    }),
  );
}

/** Also removes the numbers of redacted texts in other groupings. */
function cleaned(text: string, hidden: readonly string[]): string {
  const compact = compacted(text);
  const spans = hidden.flatMap((each) => [
    ...spansOf(each, text),
    ...spansOf(identifierOf(each), compact.text).map((span) => wholeSpan(compact, span)),
  ]);
  return struckOut(text, spans, struck_text);
}

function spansOf(part: string | null, text: string): TextSpan[] {
  const spans: TextSpan[] = [];
  if (part === null) return spans;
  for (let start = text.indexOf(part); start >= 0; start = text.indexOf(part, start + 1))
    spans.push({ start, end: start + part.length });
  return spans;
}

function without(value: unknown, places: readonly string[]): unknown {
  return places.reduce((rest, path) => withPointer(rest, path, withheld_text), value);
}
