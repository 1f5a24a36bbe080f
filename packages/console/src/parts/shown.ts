/** Intents and decisions as people may see them: what a rule removes or redacts shows nowhere. Source: policies.md §3 rule 5. */
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
  wholeSpan,
} from "@countersign/contract";
import { atPointer, sameJson, withPointer } from "./json-lines.ts";

const withheld_text = "(withheld: a rule removes or redacts this)";

/** The answer without what is withheld in either half of it, also where a reviewer wrote it into another field. */
export function shownAnswer(answer: IntentAnswer): IntentAnswer {
  const { intent, decision } = answer;
  const { modified_content } = decision;
  const left = intent.withheld.filter((path) => {
    const there = atPointer(modified_content, path);
    return there !== undefined && sameJson(there, atPointer(intent.payload?.content, path));
  });
  const shown = struckFrom(without(modified_content, left), toldOf(intent)) as Decision["modified_content"];
  return { ...answer, intent: shownIntent(intent), decision: { ...decision, modified_content: shown } };
}

/** The intent without what is withheld; an agent may say in its summary or target what is withheld in the content. */
export function shownIntent<T extends IntentRecord>(intent: T): T {
  const { action, payload, withheld } = intent;
  if (withheld.length === 0) return intent;
  const content = without(payload?.content, withheld) as Record<string, unknown>;
  const hidden = hiddenTexts(payload?.content, content);
  const clean = (text: string) => cleaned(text, hidden);
  const target = Object.entries(action.target ?? {}).map(([name, text]) => [name, clean(text)]);
  return {
    ...intent,
    action: action.target === undefined ? action : { ...action, target: Object.fromEntries(target) },
    payload: {
      ...payload,
      content,
      ...(payload?.summary === undefined ? {} : { summary: clean(payload.summary) }),
    },
  };
}

/** What texts and numbers of an action are withheld, and what its parameters show, the names of members too. */
interface Told {
  readonly hidden: readonly string[];
  readonly shown: ReadonlySet<string>;
}

function toldOf({ payload, withheld }: IntentRecord): Told {
  const shown = without(payload?.content, withheld);
  return { hidden: hiddenTexts(payload?.content, shown), shown: new Set([...textsOf(shown), ...namesIn(shown)]) };
}

function namesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const deeper = Object.values(value).flatMap(namesIn);
  return Array.isArray(value) ? deeper : [...Object.keys(value), ...deeper];
}

/**
 * A JSON value with none of the hidden texts in what somebody changed of its texts, numbers and names. What the parameters show
 * stays, also where a hidden text is a part of it: struck out here only, it would look taken out of what the agent may do, and
 * whoever edits around it would take it out.
 */
function struckFrom(value: unknown, told: Told): unknown {
  if (told.hidden.length === 0) return value;
  const struck = (text: string) => (told.shown.has(text) ? text : cleaned(text, told.hidden));
  if (typeof value === "string" || typeof value === "number") {
    const left = struck(String(value));
    return left === String(value) ? value : left;
  }
  if (Array.isArray(value)) return value.map((item) => struckFrom(item, told));
  if (typeof value !== "object" || value === null) return value;
  // Names that become alike are counted, as the service counts them.
  const times = new Map<string, number>();
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const left = struck(name);
      const time = (times.get(left) ?? 0) + 1;
      times.set(left, time);
      return [time === 1 ? left : `${left} (${time})`, struckFrom(item, told)];
    }),
  );
}

/** The text without the hidden texts in it, and without numbers of them in other groups. */
function cleaned(text: string, hidden: readonly string[]): string {
  const compact = compacted(text);
  const spans = hidden.flatMap((each) => [
    ...spansOf(each, text),
    ...spansOf(identifierOf(each), compact.text).map((span) => wholeSpan(compact, span)),
  ]);
  return struckOut(text, spans, "[redacted]");
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
