import { isDeepStrictEqual } from "node:util";
import type { OrganizationChange, OrganizationSettings } from "@countersign/contract";
import { faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { countFreezes } from "../../store/freezes/freezes.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { readOrganizationSettings, writeOrganizationSettings } from "../../store/organizations/organizations.ts";
import { readPerson } from "../../store/people/people.ts";
import { isStrongSession } from "../../store/people/sessions.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import { identityOf, presentPerson } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";

export function readSettings(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
): Promise<OrganizationSettings> {
  return runtime.db.tenant(org_id, (query) => readOrganizationSettings(query, org_id));
}

/**
 * Changes settings. While something is frozen, the second person for unfreezing cannot be switched off. To switch off the
 * second person for going live, a second person must send the same within 24 hours. An admin with a second factor of their own may require one of all. Faults: state_conflict, those of
 * refuseEnded, unavailable.
 */
export function changeSettings(
  runtime: Pick<Runtime, "db" | "ids" | "callers">,
  caller: Caller,
  change: OrganizationChange,
): Promise<OrganizationSettings> {
  return untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => changeOnce(runtime, query, current, change)),
  );
}

async function changeOnce(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  caller: Caller,
  change: OrganizationChange,
): Promise<OrganizationSettings> {
  const { org_id, actor } = caller;
  const head = await lockHead(query, org_id);
  await refuseEnded(query, caller);
  demandCurrentKey(head, caller);
  const before = await readOrganizationSettings(query, org_id);
  const after = { ...before, ...change, ...(await secondPerson(query, caller, before, change)) };
  if (isDeepStrictEqual(after, before)) return before;
  if (after.second_factor_required && !before.second_factor_required) await refuseWithoutOwn(query, caller);
  const ends_second = before.unfreeze_needs_second_person && !after.unfreeze_needs_second_person;
  if (ends_second && (await countFreezes(query, org_id)) > 0)
    throw faultAt("state_conflict", "/unfreeze_needs_second_person", "not_allowed", "Unfreeze everything first.");
  const at = await databaseNow(query);
  const is_requested = before.go_live_alone_requested_by === null && after.go_live_alone_requested_by !== null;
  await writeOrganizationSettings(query, after, is_requested ? at : null);
  const type = is_requested ? "organization_change_requested" : "organization_changed";
  const ends_two = before.go_live_needs_second_person && !after.go_live_needs_second_person;
  const confirmed = ends_two ? { requested_by: before.go_live_alone_requested_by } : {};
  const row = auditRow(runtime.ids, { intent_id: null, at, actor, type, data: { ...change, ...confirmed } });
  // Requests that began before count as stale, so that no session without a second factor commits after this.
  const raise = after.second_factor_required === before.second_factor_required ? [] : (["auth"] as const);
  await changeHead(query, head, { audit: [row], raise });
  return after;
}

/** Only an admin with a second factor may require one, so that at least one admin can go on. Faults: state_conflict. */
async function refuseWithoutOwn(query: Query, { org_id, user_id, session_id }: Caller): Promise<void> {
  const person = user_id === null ? undefined : await readPerson(query, org_id, user_id);
  if (person?.mfa_enabled || (session_id !== null && (await isStrongSession(query, org_id, session_id)))) return;
  const message =
    "A signed-in admin with a second factor must switch this on: set up an authenticator, or sign in with a passkey.";
  throw faultAt("state_conflict", "/second_factor_required", "not_allowed", message);
}

type SecondPerson = Pick<OrganizationSettings, "go_live_needs_second_person" | "go_live_alone_requested_by">;

/** Without this, one person could switch the second one off and then go live alone. Faults: state_conflict. */
async function secondPerson(
  query: Query,
  { org_id, lineage_id }: Caller,
  { go_live_needs_second_person: needed, go_live_alone_requested_by: first }: OrganizationSettings,
  { go_live_needs_second_person: wanted }: OrganizationChange,
): Promise<Partial<SecondPerson>> {
  const path = "/go_live_needs_second_person";
  if (wanted === undefined) return {};
  if (wanted || !needed) return { go_live_alone_requested_by: null };
  const { person } = await identityOf(query, org_id, lineage_id);
  if (first === null) return { go_live_needs_second_person: true, go_live_alone_requested_by: person };
  if ((await presentPerson(query, org_id, first)) === person)
    throw faultAt("state_conflict", path, "not_allowed", "A second, different person must switch it off, too.");
  return { go_live_alone_requested_by: null };
}
