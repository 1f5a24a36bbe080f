/** Requests that Slack sends: clicks on cards, and the slash command. */
import { errorCodes, operations, roleMeets, roleNames, type SlackReply } from "@countersign/contract";
import {
  Fault,
  faultAt,
  isSignedBySlack,
  readSlackForm,
  type SlackAccount,
  type SlackRequest,
  sha256Hex,
  slackEscaped,
} from "@countersign/core";
import { readChannel } from "../../store/channels/channels.ts";
import { readLinkedPerson } from "../../store/channels/chat-links.ts";
import { decideEscalation } from "../escalations/decide-escalation.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { slackSecrets } from "./connect-slack.ts";
import { linkSlackAccount } from "./link-slack.ts";
import type { SlackSettings } from "./slack-api.ts";

/** As received. */
export interface SignedForm {
  readonly org_id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
}

/** Checks the signature before it reads anything. Faults: invalid_signature. */
export async function readSlackRequest(
  runtime: Pick<Runtime, "db" | "clock" | "sealer">,
  form: SignedForm,
): Promise<SlackRequest> {
  const { org_id } = form;
  const channel = await runtime.db.tenant(org_id, (query) => readChannel<SlackSettings>(query, org_id, "slack"));
  // The same answer as for a wrong signature, so that nobody learns which organizations use Slack.
  if (channel === undefined) throw new Fault("invalid_signature");
  const { signing_secret } = slackSecrets(runtime, channel);
  if (!isSignedBySlack(signing_secret, form, runtime.clock.now_us())) throw new Fault("invalid_signature");
  return readSlackForm(form.body);
}

/**
 * Returns the person of a Slack account as a caller who may decide reviews; null: the account is not linked. Faults:
 * forbidden (the role), second_factor_required.
 */
export async function slackCaller(
  { db }: Pick<Runtime, "db">,
  org_id: string,
  account: SlackAccount,
): Promise<Caller | null> {
  const person = await db.tenant(org_id, (query) => readLinkedPerson(query, org_id, account));
  if (person === undefined) return null;
  const { user_id, role, auth_epoch, second_factor_missing } = person;
  if (second_factor_missing) throw new Fault("second_factor_required");
  const { auth } = operations.decideEscalation;
  if (!roleMeets(role, auth)) {
    const able = roleNames.filter((each) => roleMeets(each, auth));
    throw faultAt("forbidden", "", "not_allowed", `Roles that may: ${able.join(", ")}.`);
  }
  const nothing = { key_id: null, session_id: null, agent_id: null, bindings: null };
  const as = { lineage_id: user_id, actor: user_id, scope: "org", environment: "live", via: "slack" } as const;
  return { ...nothing, ...as, org_id, user_id, role, auth_epoch };
}

/**
 * Votes for the linked person. A request that is sent twice votes once, because its signature is the Idempotency-Key.
 * Faults: those of decideEscalation.
 */
export async function voteFromSlack(
  runtime: Parameters<typeof decideEscalation>[0],
  caller: Caller,
  { escalation_id, outcome }: Extract<SlackRequest, { kind: "vote" }>,
  { signature }: SignedForm,
): Promise<void> {
  await decideEscalation(runtime, caller, escalation_id, { outcome }, `slack ${sha256Hex(signature)}`);
}

/** Answers `/countersign link <code>`. */
export async function answerCommand(
  runtime: Recording & Pick<Runtime, "settings">,
  org_id: string,
  { account, text }: Extract<SlackRequest, { kind: "command" }>,
): Promise<SlackReply> {
  const [, code] = /^link\s+([0-9A-Za-z]{1,64})$/.exec(text) ?? [];
  const settings = `${runtime.settings.public_url()}/settings`;
  if (code === undefined)
    return reply(`To link your account, get a code at ${settings}. Then type: /countersign link CODE`);
  const email = await linkSlackAccount(runtime, org_id, account, code);
  if (email === null)
    return reply(`This code is wrong, was used, or is older than ten minutes. Get another at ${settings}.`);
  return reply(`Your votes in this workspace now count as those of ${email}. If that is not you, tell an admin now.`);
}

function reply(text: string): SlackReply {
  return { response_type: "ephemeral", text: slackEscaped(text) };
}

export function unlinkedReply({ settings }: Pick<Runtime, "settings">): SlackReply {
  return reply(
    `Your vote did not count: this Slack account is not linked. Link it at ${settings.public_url()}/settings.`,
  );
}

/** The link ended while a vote was on its way. */
export function endedLink(): Fault {
  return faultAt("forbidden", "", "not_allowed", "This Slack account is not linked any more.");
}

/** Says why a vote from Slack did not count. */
export function refusalReply(runtime: Pick<Runtime, "settings">, fault: Fault, escalation_id: string): SlackReply {
  const public_url = runtime.settings.public_url();
  const review = `${public_url}/escalations/${encodeURIComponent(escalation_id)}`;
  return reply(`Your vote did not count. ${causeOf(fault)} Open the review: ${review}`);
}

function causeOf({ code, details }: Fault): string {
  if (code === "reason_required")
    return "A rule asks you to read the case in the console, or to write your reason there.";
  const [detail] = details as readonly { readonly message?: unknown }[];
  return typeof detail?.message === "string" ? detail.message : errorCodes[code].meaning;
}
