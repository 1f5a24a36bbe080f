import { limits } from "@countersign/contract";
import { sha256Hex } from "@countersign/core";
import type { Mail, Query } from "../../ports.ts";
import { claimMails, type DueMail, deleteMail, postponeMail, putOffMail } from "../../store/people/mails.ts";
import { emailKey, findPerson, readPerson } from "../../store/people/people.ts";
import { readToken } from "../../store/people/person-tokens.ts";
import { type PushSending, sendPush } from "../channels/send-push.ts";
import type { Runtime } from "../runtime.ts";
import { type MailContents, type MailKind, mailContext } from "./mail.ts";
import {
  accountMail,
  contradictionMail,
  countersFullMail,
  domainMail,
  escalationsMail,
  invitationMail,
  keyExpiryMail,
  knownAddressMail,
  membraneMail,
  nobodyCanDecideMail,
  passwordMail,
  rolloutStoppedMail,
  signupMail,
  type Words,
  webhookFailingMail,
} from "./mail-texts.ts";
import { newPasswordLink } from "./passwords.ts";
import { unsubscribeToken } from "./people.ts";
import { tokenHash } from "./session.ts";

const at_once_max = 10;
export type MailSending = Pick<
  Runtime,
  "db" | "clock" | "ids" | "log" | "metrics" | "settings" | "sealer" | "mailer" | "rateWindows"
> &
  PushSending;

/** Sent first, because somebody waits for them. */
const waitedFor: readonly MailKind[] = ["password", "signup", "invitation"];
/** Longer than any attempt, which a mailer ends after a minute. */
const lease_seconds = 120;
/** Waits after failed attempts. Then the mail is dropped, because its link would be too old. */
const waits_seconds = [10, 60, 300, 1_800, 7_200, 21_600] as const;

/**
 * Sends due mails; true: there may be more. At least once: a node that dies before it stores the result leaves the mail
 * to be sent again. `stop` aborts running attempts and puts them off.
 */
export async function sendMails(runtime: MailSending, stop?: AbortSignal): Promise<boolean> {
  const due = await runtime.db.system((query) => claimMails(query, lease_seconds, at_once_max, waitedFor));
  await Promise.all(due.map((mail) => sendOne(runtime, mail, stop)));
  return due.length === at_once_max;
}

async function sendOne(runtime: MailSending, due: DueMail, stop?: AbortSignal): Promise<void> {
  const { mail_id, kind, attempts } = due;
  try {
    const content = JSON.parse(runtime.sealer.open(due.sealed, mailContext(mail_id)));
    if (kind === "push") return await pushed(runtime, mail_id, content);
    const mail = await runtime.db.system((query) => mailOf(runtime, query, due, content));
    const wait_seconds = mail === null ? 0 : await secondsToWait(runtime, kind as MailKind, mail.to);
    const dropped = wait_seconds > 0 && kind === "signup" && due.age_seconds > limits.signup_mail_wait_seconds_max;
    if (wait_seconds > 0 && !dropped) {
      await runtime.db.system((query) => putOffMail(query, mail_id, wait_seconds));
      return;
    }
    if (mail !== null && !dropped) await runtime.mailer.send(mail, stop);
    await runtime.db.system((query) => deleteMail(query, mail_id));
    runtime.metrics.mailed("dealt_with");
    // One text for all results; otherwise the log would reveal which addresses are known.
    runtime.log.info({ mail_id, kind }, "mail dealt with");
  } catch (error) {
    if (stop?.aborted) {
      // An aborted attempt does not count. It may have been the last one.
      runtime.metrics.mailed("put_off");
      runtime.log.warn({ mail_id, kind, err: error, next_attempt_seconds: waits_seconds[0] }, "mail not sent");
      await runtime.db.system((query) => putOffMail(query, mail_id, waits_seconds[0]));
      return;
    }
    const wait_seconds = waits_seconds[attempts];
    runtime.metrics.mailed(wait_seconds === undefined ? "given_up" : "put_off");
    if (wait_seconds === undefined) {
      runtime.log.error({ mail_id, kind, err: error }, "mail given up after its last attempt");
      await runtime.db.system((query) => deleteMail(query, mail_id));
      return;
    }
    runtime.log.warn({ mail_id, kind, err: error, next_attempt_seconds: wait_seconds }, "mail not sent");
    await runtime.db.system((query) => postponeMail(query, mail_id, wait_seconds));
  }
}

async function pushed(runtime: MailSending, mail_id: string, content: MailContents["push"]): Promise<void> {
  await sendPush(runtime, content);
  await runtime.db.system((query) => deleteMail(query, mail_id));
  runtime.metrics.mailed("dealt_with");
}

/**
 * Returns how long to wait before mailing an address; 0: send now. Anyone who may invite or sign up can name any
 * address repeatedly. Each kind counts separately, so signups do not delay invitations.
 */
async function secondsToWait(
  { rateWindows, clock }: Pick<Runtime, "rateWindows" | "clock">,
  kind: MailKind,
  to: string,
): Promise<number> {
  if (kind !== "invitation" && kind !== "signup") return 0;
  const bucket = `mail ${kind} ${sha256Hex(emailKey(to))}`;
  const now_ms = Math.floor(clock.now_us() / 1000);
  const taken = await rateWindows.take(bucket, limits.link_mails_per_minute_max, now_ms);
  return taken.allowed ? 0 : taken.retry_after;
}

/** Mails that need nothing but their content. */
const plainMails = {
  account: accountMail,
  domain: domainMail,
  contradiction: contradictionMail,
  counters_full: countersFullMail,
  membrane: membraneMail,
  nobody_can_decide: nobodyCanDecideMail,
  rollout_stopped: rolloutStoppedMail,
  webhook_failing: webhookFailingMail,
  key_expiry: keyExpiryMail,
} satisfies { readonly [Kind in MailKind]?: (public_url: string, told: MailContents[Kind]) => Words };

type PlainKind = keyof typeof plainMails;

function isPlain(kind: string): kind is PlainKind {
  return Object.hasOwn(plainMails, kind);
}

async function mailOf(
  runtime: Pick<Runtime, "ids" | "settings" | "sealer">,
  query: Query,
  { kind, attempts, created_at }: DueMail,
  content: MailContents[MailKind],
): Promise<Mail | null> {
  const public_url = runtime.settings.public_url();
  if (isPlain(kind)) {
    const told = content as MailContents[PlainKind];
    const words: (public_url: string, told: never) => Words = plainMails[kind];
    return { to: told.to, ...words(public_url, told as never) };
  }
  switch (kind as Exclude<MailKind, PlainKind | "push">) {
    case "signup": {
      const signup = content as MailContents["signup"];
      const known = await findPerson(query, signup.to);
      return {
        to: signup.to,
        ...(known === undefined ? signupMail(public_url, signup) : knownAddressMail(public_url)),
      };
    }
    case "password": {
      const { to } = content as MailContents["password"];
      const token = await newPasswordLink(runtime, query, to, { again: attempts > 0, asked_at: created_at });
      return token === null ? null : { to, ...passwordMail(public_url, token) };
    }
    case "invitation": {
      const invitation = content as MailContents["invitation"];
      if ((await readToken(query, "invitation", tokenHash(invitation.token))) === undefined) return null;
      return { to: invitation.to, ...invitationMail(public_url, invitation) };
    }
    case "escalations": {
      const told = content as MailContents["escalations"];
      const person = await readPerson(query, told.org_id, told.user_id);
      if (person?.notify !== true) return null;
      const token = unsubscribeToken(runtime, told.org_id, told.user_id);
      return {
        to: told.to,
        ...escalationsMail(public_url, told, token),
        unsubscribe_url: `${public_url}/v1/unsubscribe?token=${encodeURIComponent(token)}`,
      };
    }
  }
}
