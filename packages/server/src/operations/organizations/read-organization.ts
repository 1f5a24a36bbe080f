import type { CallerInfo, OrgAuditRecord } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { type AuditFilter, readTrailPage } from "../../store/audit/audit.ts";
import { readOrganizationName } from "../../store/organizations/organizations.ts";
import { decodeCursor, isSeq, type Page, page } from "../../store/rows/cursor.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import { type Caller, shownActor } from "../shared/caller.ts";
import { storableTime } from "../shared/storable-time.ts";

export async function readCaller(runtime: Pick<Runtime, "db">, caller: Caller): Promise<CallerInfo> {
  const { org_id, role, scope, agent_id, environment } = caller;
  const { org_name, person } = await runtime.db.tenant(org_id, async (query) => ({
    org_name: await readOrganizationName(query, org_id),
    person: (await identityOf(query, org_id, caller.lineage_id)).person,
  }));
  const { type } = shownActor(caller.actor);
  const id = caller.key_id ?? caller.user_id;
  const about = { type: type === "system" ? ("open_mode" as const) : type, id, person };
  return { ...about, org_id, org_name, role, scope, agent_id, environment };
}

/** Lists the organization's audit trail, newest first. Faults: invalid_request (cursor). */
export async function listAudit(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  filter: AuditFilter,
  limit: number,
  cursor: string | undefined,
): Promise<Page<OrgAuditRecord>> {
  const before = decodeCursor(cursor, isSeq);
  const stored = { ...filter, from: storableTime(filter.from), to: storableTime(filter.to) };
  const place = before === null ? null : Number(before);
  const read = (query: Query) => readTrailPage(query, org_id, stored, place, limit + 1);
  // The trail before a record never changes, so a replica with that record suffices.
  const { rows, more } = await (place === null
    ? runtime.db.tenant(org_id, read)
    : runtime.db.reading(org_id, { seq: place }, read));
  const cut = page(rows, limit, (row) => String(row.seq), more);
  return { rows: cut.rows.map((row) => ({ ...row, actor: shownActor(row.actor) })), next_cursor: cut.next_cursor };
}
