import type { Confirmation, ConfirmationInput } from "@countersign/contract";
import { changedContent, faultAt, rulingText, sha256Hex } from "@countersign/core";
import type { PasskeySite } from "../../../sign-in-ports.ts";
import { readCommitments } from "../../../store/intents/intents.ts";
import { listPasskeys } from "../../../store/people/passkeys.ts";
import { insertToken } from "../../../store/people/person-tokens.ts";
import { databaseNow } from "../../../store/rows/database-now.ts";
import { standingReview } from "../../people/voting/standing.ts";
import type { Runtime } from "../../runtime.ts";
import type { Caller } from "../../shared/caller.ts";
import { admitReviewer } from "../admit-reviewer.ts";
import { workOutNow } from "../current-rules.ts";
import { loadReview } from "../review-steps.ts";
import { overtakenFault } from "../ruling-faults.ts";
import { without } from "./confirm-vote.ts";

/** About 190 random bits. */
const salt_chars = 32;

/**
 * Returns the canonical ruling of the vote that a person is about to send, and options with its hash as the challenge.
 * Faults: not_found, forbidden, self_review, escalation_closed, confirmation_required (no passkey), state_conflict,
 * invalid_request (modifications), modified_action_blocked, masked_value_changed.
 */
export async function beginConfirmation(
  runtime: Pick<Runtime, "db" | "ids" | "orgStates" | "passkeys">,
  caller: Caller,
  escalation_id: string,
  input: ConfirmationInput,
  site: () => PasskeySite,
): Promise<Confirmation> {
  const { org_id, user_id, session_id } = caller;
  if (user_id === null || session_id === null)
    throw faultAt("forbidden", "", "not_allowed", "Only people who are signed in can confirm a ruling.");
  const cached = await runtime.orgStates.get(org_id);
  const is_outdated = await runtime.orgStates.isOutdated(org_id, cached);
  const state = is_outdated ? await runtime.orgStates.get(org_id) : cached;
  const { ruling, challenge, known } = await runtime.db.system(async (query) => {
    const loaded = await loadReview(query, org_id, escalation_id);
    const { intent: action } = loaded;
    const { person } = await admitReviewer(query, caller, loaded, input.outcome);
    const at = await databaseNow(query);
    const { review } = await standingReview(query, org_id, loaded.review, at);
    const { proposed } = await workOutNow(query, org_id, { action, review, person, input, state, at });
    if (proposed.overtaken && proposed.repeats_redacted) throw overtakenFault();
    const known = await listPasskeys(query, org_id, user_id);
    if (known.length === 0) throw without("passkey");
    const { intent_id } = action;
    const salt = runtime.ids.secret(salt_chars);
    const changed = changedContent(proposed.ruling, salt);
    const facts = { org_id, escalation_id, intent_id, person, outcome: input.outcome, changed, at };
    const ruling = rulingText({ ...facts, ...(await readCommitments(query, org_id, intent_id)) });
    const challenge = sha256Hex(ruling);
    await insertToken(query, "ruling", challenge, org_id, { user_id, session_id, at, salt });
    return { ruling, challenge, known };
  });
  return { ruling, options: await runtime.passkeys.loginOptions(site(), Buffer.from(challenge, "hex"), known) };
}
