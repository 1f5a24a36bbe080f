import type { IntentRecord } from "@countersign/contract";
import { jsonLines } from "../parts/records/json-lines.ts";

/** A value that not all actions share. `path`: JSON Pointer; `text`: as JSON; null: absent. */
interface Difference {
  readonly path: string;
  readonly text: string | null;
}

/** The differences of one action: its own values, then those that only others have. */
export interface Apart {
  readonly places: readonly Difference[];
  /** Number of further places that only others have. */
  readonly elsewhere: number;
}

/** Empty if all actions are equal. */
export type Differences = ReadonlyMap<string, Apart>;

/** Places that only others have, because an agent may name its parameters differently in every action. */
const elsewhere_named_max = 100;

const begins: Readonly<Record<string, string>> = { "{": "{ … }", "[": "[ … ]" };
const ends = new Set(["}", "]"]);

interface Place {
  count: number;
  readonly text: string;
  mixed: boolean;
}

/** Compares documents by their leaves, and lists with objects by their kind. */
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
  // The leaves of a missing branch show it.
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

/** Returns the action, its target, its agent and its parameters, without fields that always differ. */
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
