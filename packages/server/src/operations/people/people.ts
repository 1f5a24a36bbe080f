import { isDeepStrictEqual } from "node:util";
import { type MadeChoices, type PersonRole, type ProfileChange, roleMeets, type User } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { readAbsences } from "../../store/people/absences.ts";
import { readMade } from "../../store/people/made.ts";
import {
  deletePerson,
  hasOtherAdmin,
  lockPerson,
  type MailWishes,
  noteRemoved,
  type Person,
  listPeople as readPeople,
  shownUser,
  updatePerson,
  writeMailWishes,
  writeName,
} from "../../store/people/people.ts";
import { deleteTokensOf } from "../../store/people/person-tokens.ts";
import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { refuseEnded } from "./caller-ended.ts";
import { withdrawn } from "./invitations.ts";
import { cancelMadeDeliveries, settleMade } from "./made.ts";
import { endSessions, noSession, personCalling } from "./session.ts";
import { shownAbsence } from "./voting/absence.ts";

const isPerson = idPlace("user");

export async function listPeople(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  {
    role,
    limit = pageLimitDefault,
    cursor,
  }: { readonly role?: PersonRole; readonly limit?: number; readonly cursor?: string },
): Promise<{ people: User[]; next_cursor: string | null }> {
  const before = decodeCursor(cursor, isPerson);
  return runtime.db.tenant(org_id, async (query) => {
    const found = await readPeople(query, org_id, role ?? null, limit + 1, before);
    const { rows, next_cursor } = page(found, limit, (person) => person.user_id);
    const ids = rows.map(({ user_id }) => user_id);
    const absences = new Map(
      (await readAbsences(query, org_id, ids)).map((each) => [each.user_id, shownAbsence(each)]),
    );
    const people = rows.map((person) => {
      const absence = absences.get(person.user_id);
      return { ...shownUser(person), ...(absence === undefined ? {} : { absence }) };
    });
    return { people, next_cursor };
  });
}

/**
 * Changes a person's role and ends the person's sessions. If the new role has fewer rights, `made` keeps or revokes
 * what the person made. Faults: not_found, state_conflict (the last admin, or those of settleMade), those of
 * refuseEnded.
 */
export async function changeRole(
  runtime: Recording & Pick<Runtime, "log">,
  caller: Caller,
  user_id: string,
  role: PersonRole,
  made: MadeChoices = {},
): Promise<User> {
  const { org_id, actor } = caller;
  return runtime.db.system(async (query) => {
    const person = await lockPerson(query, org_id, user_id);
    if (person === undefined) throw new Fault("not_found");
    if (person.role === role) return shownUser(person);
    const loses_rights = !roleMeets(role, [person.role]);
    if (loses_rights) await cancelMadeDeliveries(query, org_id, user_id, made);
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      if (person.role === "admin" && !(await hasOtherAdmin(query, org_id, user_id))) throw lastAdmin();
      const things = loses_rights ? await readMade(query, org_id, user_id) : [];
      const settled = await settleMade(runtime, query, caller, user_id, things, made);
      await updatePerson(query, org_id, user_id, { role });
      const at = formatTimestampUs(runtime.clock.now_us());
      const data = { user_id, from: person.role, to: role };
      const changed = auditRow(runtime.ids, { intent_id: null, at, actor, type: "user_role_changed", data });
      return { ...settled, raise: ["auth", ...settled.raise], audit: [changed, ...settled.audit] };
    });
    await endSessions(runtime, query, { org_id, user_id }, actor);
    return shownUser({ ...person, role });
  });
}

/**
 * Removes a person: sessions, links, passkeys and invitations to the address end. The organization's provider cannot
 * bring the person back. `made` keeps or revokes what the person made. Votes and overrides stay, but approvals of
 * pending reviews stop counting (docs/reference/reviews.md). Assigned reviews stay assigned. Faults: not_found,
 * state_conflict (the last admin, or those of settleMade), those of refuseEnded.
 */
export async function removePerson(
  runtime: Recording & Pick<Runtime, "log">,
  caller: Caller,
  user_id: string,
  made: MadeChoices = {},
): Promise<void> {
  const { org_id, actor } = caller;
  await runtime.db.system(async (query) => {
    const person = await lockPerson(query, org_id, user_id);
    if (person === undefined) throw new Fault("not_found");
    await cancelMadeDeliveries(query, org_id, user_id, made);
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      if (person.role === "admin" && !(await hasOtherAdmin(query, org_id, user_id))) throw lastAdmin();
      const settled = await settleMade(runtime, query, caller, user_id, await readMade(query, org_id, user_id), made);
      const at = formatTimestampUs(runtime.clock.now_us());
      const data = { user_id, email: person.email, ...(person.name === null ? {} : { name: person.name }) };
      const removed = auditRow(runtime.ids, { intent_id: null, at, actor, type: "user_removed", data });
      // A person who joined through a provider may still have an invitation, and could return by it.
      const received = await withdrawn(runtime, query, caller, { email: person.email });
      await noteRemoved(query, org_id, person.email, at);
      await deletePerson(query, org_id, user_id);
      return { ...settled, raise: ["auth", ...settled.raise], audit: [removed, ...settled.audit, ...received] };
    });
    await endSessions(runtime, query, { org_id, user_id }, actor);
    for (const kind of ["password", "passkey"] as const) await deleteTokensOf(query, kind, org_id, user_id);
  });
}

/** Changes the caller's own settings. Faults: forbidden (no person), missing_api_key (the session ended). */
export async function changeProfile(runtime: Recording, caller: Caller, change: ProfileChange): Promise<User> {
  const { org_id, user_id } = personCalling(caller);
  return runtime.db.tenant(org_id, async (query) => {
    const person = await lockPerson(query, org_id, user_id);
    if (person === undefined) throw noSession();
    const { name = person.name, ...mails } = change;
    const before = mailWishes(person);
    const wishes = { ...before, ...mails };
    if (!isDeepStrictEqual(wishes, before)) await setMails(runtime, query, person, wishes, caller);
    if (name !== person.name) await setName(runtime, query, person, name, caller);
    return shownUser({ ...person, ...wishes, name });
  });
}

/** Writes a person's name with its audit row. `caller` null: the organization's provider sent the name. */
export async function setName(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  { org_id, user_id, name: from }: Pick<Person, "org_id" | "user_id" | "name">,
  to: string | null,
  caller: Caller | null,
): Promise<void> {
  await writeName(query, org_id, user_id, to);
  await withHead(query, org_id, async () => {
    if (caller !== null) await refuseEnded(query, caller);
    const at = formatTimestampUs(runtime.clock.now_us());
    const entry = { intent_id: null, at, actor: user_id, type: "user_name_changed" } as const;
    const by = caller === null ? "provider" : "session";
    return { audit: [auditRow(runtime.ids, { ...entry, data: { user_id, from, to, by } })] };
  });
}

function mailWishes({ notify, mail_rhythm, digest_hour }: MailWishes): MailWishes {
  return { notify, mail_rhythm, digest_hour };
}

async function setMails(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  { org_id, user_id }: Pick<User, "user_id"> & Pick<Caller, "org_id">,
  wishes: MailWishes,
  caller: Caller | null,
): Promise<void> {
  await writeMailWishes(query, org_id, user_id, wishes);
  await withHead(query, org_id, async () => {
    if (caller !== null) await refuseEnded(query, caller);
    const at = formatTimestampUs(runtime.clock.now_us());
    const data = { ...wishes, by: caller === null ? "link" : "session" };
    return {
      audit: [auditRow(runtime.ids, { intent_id: null, at, actor: user_id, type: "notifications_changed", data })],
    };
  });
}

function lastAdmin(): Fault {
  const message = "This is the organization's last admin: make somebody else admin first.";
  return faultAt("state_conflict", "", "last_admin", message);
}

export function unsubscribeToken(runtime: Pick<Runtime, "sealer">, org_id: string, user_id: string): string {
  return runtime.sealer.seal(JSON.stringify([org_id, user_id]), "unsubscribe");
}

/** Stops a person's mails; does nothing if the person was removed. Faults: not_found (a forged token). */
export async function unsubscribe(
  runtime: Pick<Runtime, "db" | "sealer" | "clock" | "ids">,
  token: string,
): Promise<void> {
  let whose: unknown;
  try {
    whose = JSON.parse(runtime.sealer.open(token, "unsubscribe"));
  } catch {
    throw new Fault("not_found");
  }
  const [org_id, user_id] = whose as [string, string];
  await runtime.db.tenant(org_id, async (query) => {
    const person = await lockPerson(query, org_id, user_id);
    if (person?.notify === true) await setMails(runtime, query, person, { ...mailWishes(person), notify: false }, null);
  });
}
