import { foldName, type Grant, type GrantUse } from "@countersign/contract";
import { Fault } from "@countersign/core";
import { readGrant, readGrantUses, listGrants as readPage } from "../../store/grants/grants.ts";
import { decodeCursor, idPlace, type Page, page } from "../../store/rows/cursor.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { shownGrant } from "./shown-grant.ts";

const isGrant = idPlace("grant");

export async function listGrants(
  { db, orgStates }: Pick<Runtime, "db" | "orgStates">,
  { org_id }: Pick<Caller, "org_id">,
  filter: { readonly agent_id?: string; readonly live?: "true" },
  limit: number,
  cursor: string | undefined,
): Promise<Page<Grant>> {
  const before = decodeCursor(cursor, isGrant);
  const state = await orgStates.get(org_id);
  const { agent_id, live } = filter;
  const wanted = { agent: agent_id === undefined ? undefined : foldName(agent_id), live: live !== undefined };
  const rows = await db.tenant(org_id, (query) => readPage(query, org_id, wanted, before, limit + 1));
  const found = page(rows, limit, (row) => row.grant_id);
  return { ...found, rows: found.rows.map((row) => shownGrant(row, state)) };
}

/** Returns a grant with the actions that it approved. Faults: not_found. */
export async function getGrant(
  { db, orgStates }: Pick<Runtime, "db" | "orgStates">,
  { org_id }: Pick<Caller, "org_id">,
  grant_id: string,
): Promise<{ readonly grant: Grant; readonly uses: GrantUse[] }> {
  const state = await orgStates.get(org_id);
  return db.tenant(org_id, async (query) => {
    const grant = await readGrant(query, org_id, grant_id);
    if (grant === undefined) throw new Fault("not_found");
    return { grant: shownGrant(grant, state), uses: await readGrantUses(query, org_id, grant_id) };
  });
}
