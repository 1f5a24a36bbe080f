import { all_others, limits, type MadeChoice, type MadeChoices, type MadeThing } from "@countersign/contract";
import { Fault } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { AuditRow } from "../../store/audit/audit.ts";
import { isRotationOf } from "../../store/keys/keys.ts";
import { giveInvitations } from "../../store/people/invitations.ts";
import { readMade } from "../../store/people/made.ts";
import { cancelDeliveries } from "../../store/webhooks/deliveries.ts";
import { revokedKeys } from "../keys/revoke-key.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { deletedWebhooks } from "../webhooks/delete-webhook.ts";
import { withdrawn } from "./invitations.ts";

interface SettledMade {
  readonly audit: readonly AuditRow[];
  readonly raise: readonly "policy"[];
  readonly webhooks_delta: number;
}

/**
 * Cancels pending deliveries of the person's webhooks to revoke. Call before locking the head, because settling locks
 * deliveries first. The deliverer cancels those of webhooks made in between.
 */
export async function cancelMadeDeliveries(
  query: Query,
  org_id: string,
  user_id: string,
  choices: MadeChoices,
): Promise<void> {
  if (!Object.values(choices).includes("revoke")) return;
  const webhooks = idsOf(await readMade(query, org_id, user_id), "webhook", choices, "revoke");
  if (webhooks.length > 0) await cancelDeliveries(query, org_id, webhooks);
}

/**
 * Keeps or revokes the things that a person made, under the head's lock and in a fixed number of statements. Returns
 * the changes of the head. Faults: state_conflict listing the things, if `choices` has no choice for all others and
 * does not name exactly these.
 */
export async function settleMade(
  runtime: Recording & Pick<Runtime, "log">,
  query: Query,
  caller: Caller,
  user_id: string,
  things: readonly MadeThing[],
  choices: MadeChoices,
): Promise<SettledMade> {
  const { org_id } = caller;
  if (!Object.hasOwn(choices, all_others)) {
    const all_chosen = things.every(({ id }) => Object.hasOwn(choices, id));
    if (!all_chosen || Object.keys(choices).length !== things.length) throw undecided(things);
  }
  const keys = idsOf(things, "api_key", choices, "revoke");
  const invitations = idsOf(things, "invitation", choices, "revoke");
  const webhooks = idsOf(things, "webhook", choices, "revoke");
  const kept = idsOf(things, "invitation", choices, "keep");
  // First, because a revoked key ends its invitations.
  if (kept.length > 0) await giveInvitations(query, org_id, kept, await newSender(query, caller, user_id, keys));
  const audit: AuditRow[] = [];
  if (keys.length > 0) audit.push(...(await revokedKeys(runtime, query, caller, keys)));
  if (invitations.length > 0) audit.push(...(await withdrawn(runtime, query, caller, { invitation_ids: invitations })));
  if (webhooks.length === 0) return { audit, webhooks_delta: 0, raise: [] };
  const deleted = await deletedWebhooks(runtime, query, caller, webhooks);
  return { ...deleted, audit: [...audit, ...deleted.audit] };
}

function idsOf(
  things: readonly MadeThing[],
  kind: MadeThing["kind"],
  choices: MadeChoices,
  choice: MadeChoice,
): string[] {
  return things
    .filter(({ id, kind: its }) => its === kind && choices[Object.hasOwn(choices, id) ? id : all_others] === choice)
    .map(({ id }) => id);
}

/**
 * Returns the caller as sender of the kept invitations; `system` if the caller is the person or uses a key that is
 * revoked here.
 */
async function newSender(
  query: Query,
  { org_id, actor, key_id, lineage_id }: Caller,
  user_id: string,
  revoked_keys: readonly string[],
): Promise<string> {
  if (actor === user_id) return "system";
  const ends = key_id !== null && (await isRotationOf(query, org_id, revoked_keys, lineage_id));
  return ends ? "system" : actor;
}

function undecided(things: readonly MadeThing[]): Fault {
  const { made_choices_max } = limits;
  const made = things.slice(0, made_choices_max);
  const told =
    made.length === 0
      ? "This person made nothing that would stay active. Leave `made` out."
      : `This person made ${things.length} ${things.length === 1 ? "thing" : "things"} that would stay active. ` +
        'Send `made` with "revoke" or "keep" for each id of the list, and with no other id. ' +
        `Or send it with "${all_others}", for everything that you do not name.`;
  const message =
    things.length > made_choices_max
      ? `${told} The list has the first ${made_choices_max} of them, so "${all_others}" is needed.`
      : told;
  return new Fault("state_conflict", { details: [{ path: "/made", code: "undecided", message, made }] });
}
