/** What near-identical actions differ in, for one ruling on all of them. */
import type { IntentRecord } from "@countersign/contract";
import { jsonLines } from "../parts/records/json-lines.ts";

/** A value in one action where not all have the same. `path`: JSON Pointer; `text` as JSON, null: there is none. */
interface Difference {
  readonly path: string;
  readonly text: string | null;
}

/** What sets one action apart from any of the others: what it has itself, then what only others have. */
export interface Apart {
  readonly places: readonly Difference[];
  /** Further places that only others have; they stand with those. */
  readonly elsewhere: number;
}

/** Of each action what sets it apart; nothing for all of them when they ask for the same. */
export type Differences = ReadonlyMap<string, Apart>;

/** Of what only others have so much is named: an agent may name its parameters differently in every action. */
const elsewhere_named_max = 100;

const begins: Readonly<Record<string, string>> = { "{": "{ … }", "[": "[ … ]" };
const ends = new Set(["}", "]"]);

interface Place {
  count: number;
  readonly text: string;
  /** More than one text stands there. */
  mixed: boolean;
}

/** Compares documents by their leaves, and where a list stands in one and an object in another, by that. */
export function whatDiffers(documents: ReadonlyMap<string, unknown>): Differences {
  const places = new Map<string, Place>();
  for (const document of documents.values())
    for (const { path, text } of jsonLines(document)) {
      if (ends.has(text)) continue;
      const known = places.get(path);
      if (known === undefined) places.set(path, { count: 1, text, mixed: false });
      else {
        known.count += 1;
        known.mixed ||= known.text !== text;
      }
    }
  const differing = new Set<string>();
  // A branch that is missing somewhere shows by its leaves.
  for (const [path, { count, text, mixed }] of places)
    if (mixed || (count < documents.size && !Object.hasOwn(begins, text))) differing.add(path);
  return new Map([...documents].map(([id, document]) => [id, apart(document, differing)]));
}

function apart(document: unknown, differing: ReadonlySet<string>): Apart {
  const own = new Map<string, string>();
  if (differing.size > 0)
    for (const { path, text } of jsonLines(document))
      if (!ends.has(text) && differing.has(path)) own.set(path, begins[text] ?? text);
  const places: Difference[] = [...own].map(([path, text]) => ({ path, text }));
  let elsewhere = differing.size - own.size;
  let named = 0;
  for (const path of differing) {
    if (elsewhere === 0 || named === elsewhere_named_max) break;
    if (own.has(path)) continue;
    places.push({ path, text: null });
    named += 1;
    elsewhere -= 1;
  }
  return { places, elsewhere };
}

/** What is done, to what, for whom, and with what; without what tells every action from every other. */
export function asked({ agent, action, estimated_impact, decided_as, payload }: IntentRecord): unknown {
  const { on_behalf_of, framework } = agent;
  const { target, ...deed } = action;
  return JSON.parse(
    JSON.stringify({
      on_behalf_of,
      framework,
      target,
      deed,
      decided_as,
      estimated_impact,
      parameters: payload?.content,
    }),
  );
}
