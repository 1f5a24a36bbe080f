/**
 * Finds reviewers who are a party of the action. A party cannot be the only approver. See docs/reference/reviews.md.
 */
import {
  isPartyName,
  type PartyNames,
  type Present,
  partyNames,
  type Ruling,
  type StoredAction,
} from "@countersign/core";
import type { Query } from "../../../ports.ts";
import { isSolo } from "../../../store/people/solo.ts";
import { readAddresses, readKeyNames } from "../../../store/people/voters.ts";
import type { Caller } from "../../shared/caller.ts";
import type { Places } from "./standing.ts";

export interface PartyPlaces extends Places {
  readonly party: readonly number[];
}

interface PartyVote {
  readonly action: StoredAction;
  readonly present: Present;
  readonly ruling: Ruling | null;
  readonly reviewer: { readonly person: string };
}

/**
 * Adds the places where the vote is a party's: all if the reviewer is a party, else those voted in place of an absent
 * party. In solo mode nobody is a party.
 */
export async function withParties(
  query: Query,
  { org_id, lineage_id }: Caller,
  { action, present, ruling, reviewer: { person } }: PartyVote,
  places: Places,
): Promise<PartyPlaces> {
  const parties = partiesOf(action, present, ruling);
  if (parties.size === 0 || (await isSolo(query, org_id))) return { ...places, party: [] };
  const absent = [...new Set(places.in_place_of.values())];
  const addresses = await readAddresses(query, org_id, [person, ...absent]);
  const namesOf = (each: string): string[] => {
    const address = addresses.get(each);
    return [each, each.replace(/^person:/, ""), ...(address === undefined ? [] : [address])];
  };
  const own = [...namesOf(person), ...(lineage_id === null ? [] : await readKeyNames(query, org_id, lineage_id))];
  if (isPartyName(parties, own)) return { ...places, party: places.meets };
  const party = [...places.in_place_of].flatMap(([place, whose]) =>
    isPartyName(parties, namesOf(whose)) ? [place] : [],
  );
  return { ...places, party };
}

export function partiesOf(
  { intent, decision, membrane_id }: StoredAction,
  { rules }: Present,
  ruling: Ruling | null,
): PartyNames {
  const membrane = rules.membrane(membrane_id)?.membrane;
  if (membrane?.escalation.party_needs_another === false) return new Set();
  const { submitted } = intent;
  const contents = [submitted.payload?.content, decision.modified_content, ruling?.modified_content];
  return partyNames(submitted, membrane?.action_catalogue ?? [], contents);
}
