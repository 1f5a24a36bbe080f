/** Confirms a vote with a passkey's signature or a code (decision 0067). */
import type { Confirm, ConfirmationProof } from "@countersign/contract";
import {
  type ChangedContent,
  changedContent,
  type Fault,
  faultAt,
  isConfirmedEnough,
  type Ruling,
  type RulingFacts,
  rulingText,
  sha256Hex,
} from "@countersign/core";
import type { Query } from "../../../ports.ts";
import type { PasskeySite } from "../../../sign-in-ports.ts";
import { readCommitments } from "../../../store/intents/intents.ts";
import { listPasskeys, notePasskeyUse, readPasskey } from "../../../store/people/passkeys.ts";
import { lockPerson, readPerson } from "../../../store/people/people.ts";
import { takeToken } from "../../../store/people/person-tokens.ts";
import { countWrong, noSession } from "../../people/session.ts";
import { useTotp } from "../../people/totp.ts";
import type { Runtime } from "../../runtime.ts";
import type { Caller } from "../../shared/caller.ts";

/** A passkey's answer, with a valid signature over `challenge`. */
interface SignedChallenge {
  readonly kind: "passkey";
  /** Hex. */
  readonly challenge: string;
  readonly passkey_id: string;
  /** The passkey's new count of uses. */
  readonly counter: number;
  readonly response: Readonly<Record<string, string>>;
}

/** Null: the vote has no confirmation. */
export type Proof = SignedChallenge | { readonly kind: "totp" } | null;

type Checks = Pick<Runtime, "ids" | "clock" | "sealer" | "passkeys">;

/**
 * Checks the proof of a vote and locks the person's row. "wrong": the code is wrong or was used. Then the failure is
 * counted, so commit and throw `wrongCode`. Call it before the head is locked. Faults: confirmation_invalid,
 * confirmation_required, forbidden (not a person in the console), invalid_request.
 */
export async function checkProof(
  runtime: Checks,
  query: Query,
  caller: Caller,
  proof: ConfirmationProof | undefined,
  site: (() => PasskeySite) | undefined,
): Promise<Proof | "wrong"> {
  if (proof === undefined) return null;
  const { org_id, user_id, session_id } = caller;
  if (user_id === null || session_id === null || site === undefined)
    throw faultAt("forbidden", "/confirmation", "not_allowed", "Only people who are signed in can confirm a ruling.");
  if ((proof.passkey === undefined) === (proof.totp === undefined))
    throw faultAt("invalid_request", "/confirmation", "not_allowed", "Send either `passkey` or `totp`.");
  const person = await lockPerson(query, org_id, user_id);
  if (person === undefined) throw noSession();
  if (proof.passkey !== undefined) return signedChallenge(runtime, query, { org_id, user_id }, proof.passkey, site());
  if (!person.mfa_enabled) throw without("totp");
  if (await useTotp(runtime, query, person, proof.totp ?? "")) return { kind: "totp" };
  await countWrong(runtime, query, person, session_id);
  return "wrong";
}

export function wrongCode(): Fault {
  const message = "The code is wrong or was used before. Enter the one that your authenticator shows next.";
  return faultAt("confirmation_invalid", "/confirmation/totp", "not_allowed", message);
}

async function signedChallenge(
  { passkeys }: Checks,
  query: Query,
  { org_id, user_id }: { readonly org_id: string; readonly user_id: string },
  credential: Readonly<Record<string, unknown>>,
  site: PasskeySite,
): Promise<SignedChallenge> {
  const { id, response } = credential as {
    readonly id?: unknown;
    readonly response?: Readonly<Record<string, string>>;
  };
  const challenge = challengeIn(response?.["clientDataJSON"]);
  const passkey = typeof id === "string" ? await readPasskey(query, org_id, user_id, id) : undefined;
  if (challenge === null || response === undefined || passkey === undefined)
    throw invalid("It is not the answer of a passkey of yours.");
  const counter = await passkeys.usedBy(site, challenge, credential, passkey);
  if (counter === null)
    throw invalid("The signature is not valid or was used before, or the passkey did not verify its user.");
  return { kind: "passkey", challenge: challenge.toString("hex"), passkey_id: passkey.passkey_id, counter, response };
}

/** Null: the text is not the client data of a passkey. */
function challengeIn(client_data: unknown): Buffer | null {
  if (typeof client_data !== "string") return null;
  try {
    const { challenge } = JSON.parse(Buffer.from(client_data, "base64url").toString("utf8")) as { challenge?: unknown };
    return typeof challenge === "string" ? Buffer.from(challenge, "base64url") : null;
  } catch {
    return null;
  }
}

/** The member `confirmation` of the entry of a vote. */
export type RecordedConfirmation =
  | { readonly totp: true }
  | {
      readonly ruling: string;
      /** All in base64url. */
      readonly passkey: {
        readonly credential_id: string;
        readonly authenticator_data: string;
        readonly client_data_json: string;
        readonly signature: string;
      };
      /** Absent: the reviewer changed nothing, or people must not see all of it. */
      readonly changed?: ChangedContent;
    };

interface VoteToConfirm {
  /** The strictest confirmation that a rule asks for. Null: none asks. */
  readonly asked: Confirm | null;
  readonly proof: Proof;
  readonly about: Pick<RulingFacts, "escalation_id" | "intent_id" | "person" | "outcome">;
  readonly ruling: Ruling | null;
  /** People may see all of the reviewer's change. */
  readonly is_shown: boolean;
  /** Database time, RFC 3339. */
  readonly at: string;
}

/**
 * Uses up the proof for the ruling as the service works it out now, and returns what the entry records. Undefined: no
 * proof, and none is asked for. Call it under the head's lock. Faults: confirmation_required, confirmation_invalid.
 */
export async function confirmVote(
  query: Query,
  caller: Caller,
  { asked, proof, about, ruling, is_shown, at }: VoteToConfirm,
): Promise<RecordedConfirmation | undefined> {
  if (!isConfirmedEnough(proof?.kind ?? null, asked)) throw await required(query, caller, asked ?? "passkey");
  if (proof === null) return undefined;
  if (proof.kind === "totp") return { totp: true };
  const { org_id, user_id, session_id } = caller;
  const token = await takeToken(query, "ruling", proof.challenge);
  const { at: begun_at = "", salt = "", ...subject } = token?.subject ?? {};
  const mine = token?.org_id === org_id && subject["user_id"] === user_id && subject["session_id"] === session_id;
  if (!mine) throw invalid("It was used before, is older than 5 minutes, or is of another session. Confirm again.");
  const changed = changedContent(ruling, salt);
  const commitments = await readCommitments(query, org_id, about.intent_id);
  const text = rulingText({ org_id, ...about, ...commitments, changed, at: begun_at });
  if (sha256Hex(text) !== proof.challenge)
    throw invalid("You confirmed another ruling: the outcome, the content or the case differs. Confirm this one.");
  if (!(await notePasskeyUse(query, { org_id, passkey_id: proof.passkey_id }, proof.counter, at)))
    throw invalid("The passkey was used elsewhere at the same time, or was copied. Confirm again.");
  const { authenticatorData = "", clientDataJSON = "", signature = "" } = proof.response;
  const passkey = {
    credential_id: proof.passkey_id,
    authenticator_data: authenticatorData,
    client_data_json: clientDataJSON,
    signature,
  };
  return { ruling: text, passkey, ...(changed === null || !is_shown ? {} : { changed }) };
}

function invalid(message: string): Fault {
  return faultAt("confirmation_invalid", "/confirmation/passkey", "not_allowed", message);
}

/** Says how this caller can confirm. */
async function required(query: Query, { org_id, user_id, session_id, via }: Caller, asked: Confirm): Promise<Fault> {
  if (user_id === null || session_id === null) {
    const who = via === undefined ? "An API key" : "A chat";
    const message = `A rule asks a person to confirm this ruling. ${who} cannot confirm: decide on the page of the review.`;
    return faultAt("confirmation_required", "/confirmation", "not_allowed", message);
  }
  const has_passkey = (await listPasskeys(query, org_id, user_id)).length > 0;
  if (asked === "passkey") return has_passkey ? asks("passkey") : without("passkey");
  const person = await readPerson(query, org_id, user_id);
  if (person?.mfa_enabled) return asks("totp");
  // A signature is a stricter confirmation than a code.
  return has_passkey ? asks("passkey") : without("totp");
}

const requests = {
  passkey:
    "A rule asks you to sign this ruling with a passkey. Begin with POST /v1/escalations/{escalation_id}/confirmation.",
  totp: "A rule asks you to confirm this ruling with a code of your authenticator. Send it as `confirmation.totp`.",
} as const;

function asks(kind: Confirm): Fault {
  return faultAt("confirmation_required", "/confirmation", kind, requests[kind]);
}

/** The person cannot confirm so yet. */
export function without(kind: Confirm): Fault {
  return kind === "passkey"
    ? faultAt("confirmation_required", "/confirmation", "no_passkey", "You have no passkey. Add one in your settings.")
    : faultAt(
        "confirmation_required",
        "/confirmation",
        "no_authenticator",
        "You have no authenticator. Set one up in your settings.",
      );
}
