/** Words for completion in policies. A test compares functions and fields with the engine's. */
import { actionTypes, dataClasses, factCategories } from "@countersign/contract";
import { documentFields } from "./document-text.ts";

export interface Word {
  readonly label: string;
  readonly kind: "variable" | "fact" | "function" | "field" | "value";
  readonly detail: string;
}

const roots: readonly (readonly [string, string])[] = [
  ["agent", "who acts: id, framework, session_id, on_behalf_of, parent, ancestors"],
  ["action", "what: type, verb"],
  ["target", "what it touches: type, identifier, sensitivity"],
  ["params", "the action's parameters (payload.content)"],
  ["impact", "reversible, financial_exposure_usd, audience_size"],
  ["data_classes", "classes of data it touches"],
  ["intent", "the intent as submitted"],
  ["facts", "what is known, by category"],
  ["vars", "variables of this policy"],
  ["mode", "live, shadow or test"],
  ["now", "the time of the decision"],
];

const members: ReadonlyMap<string, readonly string[]> = new Map([
  ["agent", ["id", "framework", "session_id", "on_behalf_of", "parent", "ancestors"]],
  ["action", ["type", "verb"]],
  ["target", ["type", "identifier", "sensitivity"]],
  ["impact", ["reversible", "financial_exposure_usd", "audience_size", "regulatory_domains"]],
]);

const functionWords: readonly (readonly [name: string, detail: string])[] = [
  ["documented", "(x) evidence is given"],
  ["tls", "(x) TLS version as a number; junk is 0"],
  ["daysSince", "(date) calendar days, junk is 1e9"],
  ["withinMonths", "(date, n) not older than n months"],
  ["nowBefore", "(date) now lies before it"],
  ["consentState", "(x) granted, refused or unknown"],
  ["optedOut", "(x) an opt-out is recorded"],
  ["optOutKnown", "(x) whether opted out is known"],
  ["framework", "(facts, name) yes, no or unknown"],
  ["aiVoice", "(facts) an AI voice is in use"],
  ["aiDisclosed", "(facts) the AI voice is disclosed"],
  ["recipientStates", "(facts) states of the recipient"],
  ["localHourConsistent", "(hour) the hour fits the time"],
  ["inFederalWindow", "(hour) 8 to 21 o’clock"],
  ["inCallingWindow", "(states, hour) calling is allowed"],
  ["nextCallingWindow", "(states, hour) when it is"],
  ["transferOk", "(country, mechanism) transfer is lawful"],
  ["subset", "(a, b) every a is in b"],
  ["intersect", "(a, b) what is in both"],
  ["entries", "(x) the entries of a list or text"],
  ["listed", "(name, x) x is it or lists it, in any case"],
  ["effects", "(params) what a command or a file tool does"],
  ["addresses", "(x) web addresses in its texts"],
  ["unnamedAddresses", "(params, letters) addresses that nobody named"],
  ["unnamedLinks", "(params, letters) the same, as a fetch reads them"],
  ["flagged", '(x) whether a flag is set, as true or "yes"'],
  ["known", "(x) neither missing nor stale"],
];

const celFunctions: readonly (readonly [string, string])[] = [
  ["has", "(x.y) the field is there"],
  ["size", "(x) length"],
  ["matches", "regular expression"],
  ["startsWith", "text begins with"],
  ["endsWith", "text ends with"],
  ["contains", "text contains"],
  ["exists", "(x, condition) some element"],
  ["all", "(x, condition) every element"],
  ["timestamp", "(text) a time"],
  ["duration", "(text) a length of time"],
];

const types = Object.entries(actionTypes);

/** Returns the words that may follow `path.` (empty: at the beginning of a word). */
export function wordsAfter(path: readonly string[]): Word[] {
  const [root, category] = path;
  if (root === undefined) {
    return [
      ...roots.map(([label, detail]): Word => ({ label, kind: "variable", detail })),
      ...[...functionWords, ...celFunctions].map(([label, detail]): Word => ({ label, kind: "function", detail })),
      ...documentFields.map((label): Word => ({ label, kind: "field", detail: "field of the document" })),
      ...[...types, ...Object.entries(dataClasses)].map(([label, detail]): Word => ({ label, kind: "value", detail })),
    ];
  }
  if (root === "facts" && category === undefined) {
    return Object.values(factCategories).map(
      ({ name, meaning }): Word => ({ label: name, kind: "fact", detail: meaning }),
    );
  }
  if (root === "facts" && path.length === 2) {
    const found = Object.values(factCategories).find(({ name }) => name === category);
    return (found?.fields ?? []).map(({ name, meaning }): Word => ({ label: name, kind: "fact", detail: meaning }));
  }
  if (path.length > 1) return [];
  return [
    ...(members.get(root) ?? []).map((label): Word => ({ label, kind: "variable", detail: `of ${root}` })),
    ...types.flatMap(([type, detail]): Word[] =>
      type.startsWith(`${root}.`) ? [{ label: type.slice(root.length + 1), kind: "value", detail }] : [],
    ),
  ];
}
