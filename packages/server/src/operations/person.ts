/** Which person stands behind a key: what distinct people and self-review are told by. Source: api.md §6. */
import { idPrefixes } from "@countersign/contract";
import type { Query } from "../ports.ts";
import { readCreator } from "../store/keys.ts";
import type { Caller } from "./caller.ts";

/** Everybody in open mode is this one person. */
const open_mode = "open_mode";

/** A key is the person that created it, else its chain of rotations; so two keys of one person are one vote. */
export async function personOf(query: Query, caller: Pick<Caller, "org_id" | "lineage_id">): Promise<string> {
  if (caller.lineage_id === null) return open_mode;
  const creator = await readCreator(query, caller.org_id, caller.lineage_id);
  return creator?.created_by?.startsWith(idPrefixes.user) === true ? creator.created_by : caller.lineage_id;
}

/** Who submitted an intent: the key's chain of rotations, and the person or chain of rotations that created it. */
export async function submittersOf(
  query: Query,
  org_id: string,
  intent: { readonly lineage_id: string | null },
): Promise<{ readonly self: ReadonlySet<string>; readonly creator: string | null }> {
  if (intent.lineage_id === null) return { self: new Set([open_mode]), creator: null };
  const creator = await readCreator(query, org_id, intent.lineage_id);
  const self = new Set([intent.lineage_id]);
  if (creator?.created_by?.startsWith(idPrefixes.user) === true) self.add(creator.created_by);
  return { self, creator: creator?.creator_lineage ?? creator?.created_by ?? null };
}
