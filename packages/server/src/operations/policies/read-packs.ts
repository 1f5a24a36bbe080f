import type { Pack } from "@countersign/contract";
import { Fault, type ParsedPack, packFacts } from "@countersign/core";
import { decodeCursor, page, pageLimitDefault } from "../../store/rows/cursor.ts";

export type Packs = ReadonlyMap<string, ParsedPack>;

export function listPacks(
  packs: Packs,
  { limit = pageLimitDefault, cursor }: { readonly limit?: number; readonly cursor?: string },
): { packs: Pack[]; next_cursor: string | null } {
  const after = decodeCursor(cursor, (place) => packs.has(place));
  const names = [...packs.keys()].sort().filter((name) => after === null || name > after);
  const { rows, next_cursor } = page(names.slice(0, limit + 1), limit, (name) => name);
  return { packs: rows.map((name) => getPack(packs, name)), next_cursor };
}

/** Returns a pack with its rules, in manifest order, and their citations. Faults: not_found. */
export function getPack(packs: Packs, name: string): Pack {
  const pack = packs.get(name);
  if (pack === undefined) throw new Fault("not_found");
  const { title, version, description, facts_from } = pack;
  const rules = pack.rules.map(({ metadata, spec }) => ({
    name: metadata.name,
    title: metadata.title ?? metadata.name,
    effect: spec.effect,
    override: spec.override ?? "reviewer",
    citations: [...(metadata.citations ?? [])],
  }));
  return { name, title, version, description, facts_from, facts: packFacts(pack), rules };
}
