import { type CatalogueEntry, unclassifiedActionType } from "@countersign/contract";
import type { DecidableIntent } from "../deciding/decision.ts";

/** What is decided on: the declared action, overruled by the catalogue. */
export interface DecidedAction {
  readonly type: string;
  readonly data_classes: readonly string[];
}

const none: readonly string[] = Object.freeze([]);

/**
 * The action type and data classes to decide on. A catalogue entry for the verb overrules what the agent declares, so
 * that no agent can relabel a wire transfer; an entry without data classes says nothing about them and the declared
 * ones stand. Types and data classes are lower-cased, and data classes trimmed: no spelling keeps a rule from applying. Source: api.md §4.
 */
export function decidedAction(
  intent: Pick<DecidableIntent, "action" | "data_classes">,
  catalogue: ReadonlyMap<string, CatalogueEntry>,
): DecidedAction {
  const entry = catalogue.get(intent.action.verb);
  const type = entry?.type ?? intent.action.type ?? unclassifiedActionType;
  const known = entry === undefined || entry.data_classes.length === 0 ? intent.data_classes : entry.data_classes;
  return { type: type.toLowerCase(), data_classes: known?.map((name) => name.trim().toLowerCase()) ?? none };
}
