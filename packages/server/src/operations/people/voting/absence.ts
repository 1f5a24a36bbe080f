import { type Absence, type AbsenceInput, roleMeets } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, isReached } from "@countersign/core";
import type { Query } from "../../../ports.ts";
import { auditRow } from "../../../store/audit/audit.ts";
import { withHead } from "../../../store/organizations/heads.ts";
import { deleteAbsence, type StoredAbsence, writeAbsence } from "../../../store/people/absences.ts";
import { readPerson } from "../../../store/people/people.ts";
import { databaseNow } from "../../../store/rows/database-now.ts";
import type { Recording } from "../../runtime.ts";
import type { Caller } from "../../shared/caller.ts";
import { storableUs } from "../../shared/storable-time.ts";
import { refuseEnded } from "../caller-ended.ts";
import { identityOf } from "../identity.ts";

/**
 * Sets a person's absence and delegate. Only a delegate named by an admin votes in the absent person's place. See
 * docs/reference/reviews.md. Faults: forbidden (neither that person nor an admin), not_found, invalid_request (times, a
 * delegate who may not decide), those of refuseEnded.
 */
export async function setAbsence(
  runtime: Recording,
  caller: Caller,
  user_id: string,
  input: AbsenceInput,
): Promise<Absence> {
  const { org_id, actor, role } = caller;
  return runtime.db.tenant(org_id, async (query) => {
    let absence: StoredAbsence | undefined;
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      await refuseStranger(query, caller, user_id);
      await refuseUnfitDelegate(query, org_id, user_id, input.delegate);
      const { starts_at, ends_at } = await timesOf(query, input);
      absence = { user_id, delegate: input.delegate, by_admin: roleMeets(role, ["admin"]), starts_at, ends_at };
      await writeAbsence(query, org_id, absence, actor);
      const at = formatTimestampUs(runtime.clock.now_us());
      const data = { user_id, ...shownAbsence(absence) };
      return { audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "absence_set", data })] };
    });
    return shownAbsence(absence as StoredAbsence);
  });
}

/**
 * Ends a person's absence now. Faults: forbidden (neither that person nor an admin), not_found, those of refuseEnded.
 */
export async function endAbsence(runtime: Recording, caller: Caller, user_id: string): Promise<void> {
  const { org_id, actor } = caller;
  await runtime.db.tenant(org_id, (query) =>
    withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      await refuseStranger(query, caller, user_id);
      if (!(await deleteAbsence(query, org_id, user_id))) throw new Fault("not_found");
      const at = formatTimestampUs(runtime.clock.now_us());
      return {
        audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "absence_ended", data: { user_id } })],
      };
    }),
  );
}

export function shownAbsence({ starts_at, ends_at, delegate, by_admin }: StoredAbsence): Absence {
  return { from: starts_at, until: ends_at, delegate, may_vote: by_admin };
}

async function refuseStranger(query: Query, { org_id, role, lineage_id }: Caller, user_id: string): Promise<void> {
  if ((await readPerson(query, org_id, user_id)) === undefined) throw new Fault("not_found");
  if (roleMeets(role, ["admin"])) return;
  if ((await identityOf(query, org_id, lineage_id)).person === user_id) return;
  throw faultAt("forbidden", "", "not_allowed", "You may set your own absence. An admin may set that of other people.");
}

async function refuseUnfitDelegate(query: Query, org_id: string, user_id: string, delegate: string): Promise<void> {
  const refuse = (message: string) => faultAt("invalid_request", "/delegate", "not_allowed", message);
  if (delegate === user_id) throw refuse("Name another person: a person cannot be their own delegate.");
  const person = await readPerson(query, org_id, delegate);
  if (person === undefined) throw refuse("Nobody in your organization has this user_id.");
  if (!roleMeets(person.role, ["reviewer"])) throw refuse(`The role ${person.role} may not decide.`);
}

async function timesOf(
  query: Query,
  { from, until }: AbsenceInput,
): Promise<Pick<StoredAbsence, "starts_at" | "ends_at">> {
  const now = await databaseNow(query);
  const starts_at = from === undefined ? now : formatTimestampUs(storableUs(from));
  const ends_at = formatTimestampUs(storableUs(until));
  if (!isReached(ends_at, now) && !isReached(ends_at, starts_at)) return { starts_at, ends_at };
  throw faultAt("invalid_request", "/until", "out_of_range", "The end must be in the future, and after the start.");
}
