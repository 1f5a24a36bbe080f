/** What becomes of the keys, webhooks and invitations that a person made, when the person loses rights or leaves. */
import { limits, type MadeChoices, type MadeThing } from "@countersign/contract";
import { Fault } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { AuditRow } from "../../store/audit/audit.ts";
import { giveInvitation } from "../../store/people/invitations.ts";
import { idPlace } from "../../store/rows/cursor.ts";
import { cancelDeliveries } from "../../store/webhooks/deliveries.ts";
import { revokedKey } from "../keys/revoke-key.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { deletedWebhook } from "../webhooks/delete-webhook.ts";
import { withdrawn } from "./invitations.ts";

/** What settling changes in the head. */
interface SettledMade {
  readonly audit: readonly AuditRow[];
  readonly raise: readonly "policy"[];
  readonly webhooks_delta: number;
}

const isWebhook = idPlace("webhook");

/**
 * Cancels the pending deliveries of the webhooks that are to be revoked. Call it before the head is locked, because settling locks
 * deliveries first, too. The ids are sorted, so two transactions never wait for each other in a circle.
 */
export async function cancelMadeDeliveries(query: Query, org_id: string, choices: MadeChoices): Promise<void> {
  for (const id of Object.keys(choices).sort()) {
    if (choices[id] === "revoke" && isWebhook(id)) await cancelDeliveries(query, org_id, id);
  }
}

/**
 * Keeps or revokes each of these things, under the head's lock. A kept invitation becomes the caller's, or the organization's if the
 * caller is the person. Returns the changes for the head. Faults: state_conflict with the list of things, where `choices` does not name
 * exactly these things.
 */
export async function settleMade(
  runtime: Recording & Pick<Runtime, "log">,
  query: Query,
  caller: Caller,
  user_id: string,
  things: readonly MadeThing[],
  choices: MadeChoices,
): Promise<SettledMade> {
  const { org_id, actor } = caller;
  const all_chosen = things.every(({ id }) => Object.hasOwn(choices, id));
  if (!all_chosen || Object.keys(choices).length !== things.length) throw undecided(things);
  for (const { id, kind } of things) {
    if (kind === "invitation" && choices[id] === "keep")
      await giveInvitation(query, org_id, id, actor === user_id ? "system" : actor);
  }
  const audit: AuditRow[] = [];
  let webhooks_delta = 0;
  for (const { id, kind } of things) {
    if (choices[id] !== "revoke") continue;
    if (kind === "invitation") audit.push(...(await withdrawn(runtime, query, caller, { invitation_id: id })));
    else if (kind === "api_key") audit.push(...(await revokedKey(runtime, query, caller, id)));
    else {
      const deleted = await deletedWebhook(runtime, query, caller, id);
      audit.push(deleted.audit);
      if (deleted.was_active) webhooks_delta -= 1;
    }
  }
  return { audit, webhooks_delta, raise: webhooks_delta === 0 ? [] : ["policy"] };
}

function undecided(things: readonly MadeThing[]): Fault {
  const { made_choices_max } = limits;
  const made = things.slice(0, made_choices_max);
  const told =
    made.length === 0
      ? "This person made nothing that would go on without the person. Leave `made` out."
      : `This person made ${things.length} ${things.length === 1 ? "thing" : "things"} that would go on without the person. ` +
        'Send `made` with "revoke" or "keep" for each id of the list, and with no other id.';
  const message =
    things.length > made_choices_max
      ? `${told} One request names at most ${made_choices_max}, so revoke some of the things before.`
      : told;
  return new Fault("state_conflict", { details: [{ path: "/made", code: "undecided", message, made }] });
}
