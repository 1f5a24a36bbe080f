import type { Membrane, RequestedMove } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { readMembrane, requestMove, updateMembrane } from "../../store/membranes/membranes.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { readOrganizationSettings } from "../../store/organizations/organizations.ts";
import { listPeople } from "../../store/people/people.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import { identityOf, presentPerson } from "../people/identity.ts";
import { type MailContents, writeMail } from "../people/mail.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";

export type MoveDeps = Pick<Runtime, "db" | "ids" | "callers" | "sealer" | "mails">;

interface Move extends Pick<RequestedMove, "to" | "reason"> {
  readonly type: "membrane_went_live" | "membrane_returned_to_shadow";
  /** Further members of the audit entries. */
  readonly more: Readonly<Record<string, unknown>>;
}

interface Moved {
  readonly membrane: Membrane;
  readonly moved: boolean;
}

/**
 * Takes a membrane live or to shadow. If the organization wants two people, the first call is a request, and another person
 * must call within 24 hours. `refuse` runs before either. Faults: not_found, state_conflict (there already, the same
 * person again), those of `refuse` and refuseEnded, unavailable.
 */
export async function moveMembrane(
  runtime: MoveDeps,
  caller: Caller,
  membrane_id: string,
  move: Move,
  refuse: (query: Query, membrane: Membrane) => Promise<void>,
): Promise<Moved> {
  const answer = await untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => moveOnce(runtime, query, current, membrane_id, move, refuse)),
  );
  runtime.mails.wake();
  return answer;
}

async function moveOnce(
  runtime: Pick<Runtime, "ids" | "sealer">,
  query: Query,
  caller: Caller,
  membrane_id: string,
  move: Move,
  refuse: (query: Query, membrane: Membrane) => Promise<void>,
): Promise<Moved> {
  const { org_id, actor } = caller;
  const { to, reason, type, more } = move;
  const head = await lockHead(query, org_id);
  await refuseEnded(query, caller);
  demandCurrentKey(head, caller);
  const before = await readMembrane(query, org_id, membrane_id);
  if (before === undefined) throw new Fault("not_found");
  if (before.status === to) throw faultAt("state_conflict", "/status", "status", `The membrane is ${to} already.`);
  await refuse(query, before);

  const { person } = await identityOf(query, org_id, caller.lineage_id);
  const at = await databaseNow(query);
  const { go_live_needs_second_person: needs_two } = await readOrganizationSettings(query, org_id);
  const first = before.requested_move?.to === to ? before.requested_move.requested_by : null;
  if (needs_two && first !== null && (await presentPerson(query, org_id, first)) === person)
    throw faultAt("state_conflict", "", "not_allowed", "A second, different person must send the same request, too.");

  const moved = !needs_two || first !== null;
  const data = { membrane_id, ...(reason !== null && { reason }), ...more };
  if (!moved) {
    const requested: RequestedMove = { to, reason, requested_by: person, requested_at: at };
    await requestMove(query, org_id, membrane_id, requested);
    const entry = { intent_id: null, at, actor, type: "membrane_move_requested", data: { ...data, to } } as const;
    await changeHead(query, head, { audit: [auditRow(runtime.ids, entry)] });
    await mailAdmins(runtime, query, org_id, { membrane: before.name, status: to, reason, moved });
    return { membrane: { ...before, requested_move: requested }, moved };
  }
  const membrane: Membrane = { ...before, status: to, requested_move: null };
  await updateMembrane(query, org_id, membrane, at);
  const confirmed = needs_two ? { requested_by: first } : {};
  const entry = auditRow(runtime.ids, { intent_id: null, at, actor, type, data: { ...data, ...confirmed } });
  await changeHead(query, head, { raise: ["policy"], audit: [entry] });
  if (to === "shadow") await mailAdmins(runtime, query, org_id, { membrane: before.name, status: to, reason, moved });
  return { membrane, moved };
}

const admins_max = 1_000;

async function mailAdmins(
  runtime: Pick<Runtime, "ids" | "sealer">,
  query: Query,
  org_id: string,
  content: Omit<MailContents["membrane"], "to">,
): Promise<void> {
  for (const { email: to } of await listPeople(query, org_id, "admin", admins_max, null))
    await writeMail(runtime, query, "membrane", { to, ...content });
}
