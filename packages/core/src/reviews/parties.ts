/**
 * Parties: the person on whose behalf an agent acts, and the person whom the action pays or serves
 * (docs/reference/reviews.md).
 */
import { type CatalogueEntry, foldName, hiddenCharacter } from "@countersign/contract";
import type { Content, DecidableIntent } from "../deciding/decision.ts";

export type PartyNames = ReadonlySet<string>;

/** Returns `agent.on_behalf_of` and the texts in the catalogue's `party` parameter. */
export function partyNames(
  { agent, action }: Pick<DecidableIntent, "agent" | "action">,
  catalogue: readonly Pick<CatalogueEntry, "verb" | "party">[],
  contents: readonly (Content | null | undefined)[],
): PartyNames {
  const verb = foldName(action.verb);
  const party = catalogue.find((entry) => foldName(entry.verb) === verb)?.party;
  const named = party === undefined ? [] : contents.flatMap((content) => textsIn(valueAt(content, party)));
  const texts = [...textsIn(agent.on_behalf_of), ...named];
  return new Set(texts.map(folded).filter((name) => name !== ""));
}

export function isPartyName(parties: PartyNames, names: readonly string[]): boolean {
  return parties.size > 0 && names.some((name) => parties.has(folded(name)));
}

const hidden = new RegExp(hiddenCharacter, "gu");

/** Ignores Unicode form, case, hidden characters and outer space. */
function folded(name: string): string {
  return foldName(name.replaceAll(hidden, "")).trim();
}

/** `party`: a member name or dotted path, optionally after `params.`. */
function valueAt(content: unknown, party: string): unknown {
  const path = party.trim().replace(/^params\./, "");
  if (isRecord(content) && Object.hasOwn(content, path)) return content[path];
  let value = content;
  for (const name of path.split(".")) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

function isRecord(value: unknown): value is Content {
  return typeof value === "object" && value !== null;
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
