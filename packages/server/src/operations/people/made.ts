/** What becomes of the keys, webhooks and invitations that a person made, when the person loses the role or leaves. */
import { limits, type MadeChoices, type MadeThing } from "@countersign/contract";
import { Fault } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { AuditRow } from "../../store/audit/audit.ts";
import { giveInvitation } from "../../store/people/invitations.ts";
import { readMade } from "../../store/people/made.ts";
import { cancelDeliveries } from "../../store/webhooks/deliveries.ts";
import { revokedKey } from "../keys/revoke-key.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { deletedWebhook } from "../webhooks/delete-webhook.ts";
import { withdrawn } from "./invitations.ts";

/** What settling changes in the head. */
export interface SettledMade {
  readonly audit: readonly AuditRow[];
  readonly raise: readonly "policy"[];
  readonly webhooks_delta: number;
}

/**
 * Cancels the pending deliveries of what is to be revoked. Call it before the head is locked: settling locks deliveries first,
 * too, so two transactions never wait for each other in a circle.
 */
export async function cancelMadeDeliveries(query: Query, org_id: string, choices: MadeChoices): Promise<void> {
  for (const [id, choice] of Object.entries(choices)) {
    if (choice === "revoke") await cancelDeliveries(query, org_id, id);
  }
}

/**
 * Keeps or revokes each thing that the person made, under the head's lock. A kept invitation becomes the caller's, or the
 * organization's if the caller is the person. Returns the changes for the head. Faults: state_conflict with the list of things for
 * which no choice was made; then nothing is changed.
 */
export async function settleMade(
  runtime: Recording & Pick<Runtime, "log">,
  query: Query,
  caller: Caller,
  user_id: string,
  choices: MadeChoices,
): Promise<SettledMade> {
  const { org_id, actor } = caller;
  const made = await readMade(query, org_id, user_id);
  const open = made.filter(({ id }) => !Object.hasOwn(choices, id));
  if (open.length > 0) throw undecided(open);
  const audit: AuditRow[] = [];
  const revoked = made.filter(({ id }) => choices[id] === "revoke");
  for (const { id, kind } of made) {
    if (kind === "invitation" && choices[id] === "keep")
      await giveInvitation(query, org_id, id, actor === user_id ? "system" : actor);
  }
  let webhooks_delta = 0;
  for (const { id, kind } of revoked) {
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

function undecided(open: readonly MadeThing[]): Fault {
  const rest = open.length - limits.made_things_shown_max;
  const message =
    `This person made ${open.length} ${open.length === 1 ? "thing" : "things"} that would go on without the person. ` +
    `Send \`made\` with "revoke" or "keep" for each id.${rest > 0 ? ` The list shows the first ${limits.made_things_shown_max}.` : ""}`;
  const detail = { path: "/made", code: "undecided", message, made: open.slice(0, limits.made_things_shown_max) };
  return new Fault("state_conflict", { details: [detail] });
}
