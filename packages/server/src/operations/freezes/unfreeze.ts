import type { UnfreezeInput, Unfreezing } from "@countersign/contract";
import { faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { deleteFreeze, readFreeze, requestUnfreeze } from "../../store/freezes/freezes.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { readOrganizationSettings } from "../../store/organizations/organizations.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import { identityOf, presentPerson } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";
import { type FreezeTarget, subjectOf } from "./freeze-subject.ts";

/**
 * Ends a freeze. If the organization requires two people, the first call is a request, and another person must call
 * within 24 hours. Faults: not_found (not frozen, or no such key), state_conflict (the same person again), those of
 * refuseEnded, unavailable.
 */
export async function unfreeze(
  runtime: Pick<Runtime, "db" | "ids" | "callers">,
  caller: Caller,
  target: FreezeTarget,
  input: UnfreezeInput,
): Promise<Unfreezing> {
  return untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => takeAway(runtime, query, current, target, input)),
  );
}

async function takeAway(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  caller: Caller,
  target: FreezeTarget,
  { reason }: UnfreezeInput,
): Promise<Unfreezing> {
  const { org_id, actor } = caller;
  const head = await lockHead(query, org_id);
  demandCurrentKey(head, caller);
  await refuseEnded(query, caller);
  const subject = await subjectOf(query, org_id, target);
  const freeze = await readFreeze(query, org_id, subject);
  if (freeze === undefined) throw faultAt("not_found", "", "not_found", "This is not frozen.");

  const { person } = await identityOf(query, org_id, caller.lineage_id);
  const at = await databaseNow(query);
  const data = { ...subject, name: freeze.name, reason };
  const { unfreeze_needs_second_person } = await readOrganizationSettings(query, org_id);
  const { unfreeze_requested_by: first } = freeze;
  const is_same = first !== null && (await presentPerson(query, org_id, first)) === person;
  if (unfreeze_needs_second_person && is_same)
    throw faultAt("state_conflict", "", "not_allowed", "A second, different person has to unfreeze it, too.");
  if (unfreeze_needs_second_person && first === null) {
    const requested = await requestUnfreeze(query, org_id, subject, person, at);
    const audit = [auditRow(runtime.ids, { intent_id: null, at, actor, type: "unfreeze_requested", data })];
    await changeHead(query, head, { audit });
    return { unfrozen: false, freeze: requested };
  }
  await deleteFreeze(query, org_id, subject);
  const confirmed = unfreeze_needs_second_person ? { requested_by: first } : {};
  const audit = [
    auditRow(runtime.ids, { intent_id: null, at, actor, type: "unfrozen", data: { ...data, ...confirmed } }),
  ];
  await changeHead(query, head, { raise: ["policy"], audit });
  return { unfrozen: true, freeze };
}
