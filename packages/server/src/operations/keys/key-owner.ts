import { idPrefixes } from "@countersign/contract";
import { faultAt } from "@countersign/core";
import type { Db } from "../../ports.ts";
import { findPerson, readPerson } from "../../store/people/people.ts";
import type { KeyToCreate } from "./create-key.ts";

export type KeyOwner = Pick<KeyToCreate, "created_by" | "person">;

/**
 * Returns the owner for an account's address or user_id, or for a person's name. Faults: not_found (no such account in
 * this organization).
 */
export async function ownerNamed(db: Pick<Db, "system">, org_id: string, named: string): Promise<KeyOwner> {
  const is_address = named.includes("@");
  if (!is_address && !named.startsWith(idPrefixes.user)) return { created_by: null, person: `person:${named}` };
  const account = await db.system((query) =>
    is_address ? findPerson(query, named) : readPerson(query, org_id, named),
  );
  if (account?.org_id === org_id) return { created_by: account.user_id, person: account.user_id };
  const message = `No account of ${org_id} has the address or id ${named}. Invite the person, or give a name without @.`;
  throw faultAt("not_found", "/person", "not_found", message);
}
