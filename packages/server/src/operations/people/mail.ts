/** Mails are written in the transaction that makes them true, and sent by the worker. Source: api.md §9. */
import type { Contradiction } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { insertMail } from "../../store/people/mails.ts";
import type { Runtime } from "../runtime.ts";

/** What a mail says, by kind. Tokens are the texts of links; they are nowhere else. */
export interface MailContents {
  /** Somebody wants an organization under this address. */
  readonly signup: { readonly to: string; readonly org_name: string; readonly token: string };
  /** Somebody forgot the password of this address, which may be nobody's: whoever sends looks. */
  readonly password: { readonly to: string };
  readonly invitation: {
    readonly to: string;
    readonly org_name: string;
    readonly role: string;
    readonly token: string;
  };
  /** How a person signs in was changed: whoever did it may not have been that person. */
  readonly account: {
    readonly to: string;
    readonly change: AccountChange;
    /** Of a changed password: how many passkeys go on signing in. */
    readonly passkeys?: number;
  };
  /** What happened to a domain, for the admins of an organization that it concerns. */
  readonly domain: { readonly to: string; readonly domain: string; readonly event: "conflict" | "ended" };
  /** An agent carried out what was not let through. */
  readonly contradiction: {
    readonly to: string;
    readonly intent_id: string;
    readonly agent_id: string;
    readonly because: Contradiction;
  };
  /** Live rules whose reviewers are gone, for the admins. */
  readonly nobody_can_decide: {
    readonly to: string;
    readonly rules: readonly { readonly policy: string; readonly membrane: string }[];
    /** Those that are not listed. */
    readonly more: number;
  };
  /** Keys that are about to expire, the first to end first, for the admins of their organization. */
  readonly key_expiry: {
    readonly to: string;
    readonly keys: readonly {
      readonly key_id: string;
      readonly name: string | null;
      readonly role: string;
      readonly expires_at: string;
    }[];
    /** Those that are not listed. */
    readonly more: number;
  };
  /** Actions that wait for this reviewer. Nothing of what the agent wrote: that is read in the console. */
  readonly escalations: {
    readonly to: string;
    readonly org_id: string;
    readonly user_id: string;
    readonly waiting: readonly WaitingAction[];
    /** Those that are not listed. */
    readonly more: number;
  };
}

/** What was changed about how a person signs in: the type of the audit row that says so, too. */
export type AccountChange =
  | "password_changed"
  | "mfa_enabled"
  | "mfa_disabled"
  | "recovery_codes_replaced"
  | "passkey_registered"
  | "passkey_deleted";

/** One action as a mail names it. */
interface WaitingAction {
  readonly escalation_id: string;
  readonly agent_id: string;
  readonly type: string;
  /** The tool. Absent: the mail was written by an earlier release. */
  readonly verb?: string;
  readonly expires_at: string;
  /** The names of the rules for which this reviewer is asked; absent in mails that an earlier version wrote. */
  readonly rules?: readonly string[];
  /** The mail reminds of it: half of its time is over, or a tenth of it is left. Absent: it does not. */
  readonly reminder?: "half" | "tenth";
}

/** A kind of mail. */
export type MailKind = keyof MailContents;

/** Puts a mail on its way, in a system transaction. */
export async function writeMail<K extends MailKind>(
  runtime: Pick<Runtime, "ids" | "sealer">,
  query: Query,
  kind: K,
  content: MailContents[K],
): Promise<void> {
  const mail_id = runtime.ids.next("mail");
  const sealed = runtime.sealer.seal(JSON.stringify(content), mailContext(mail_id));
  await insertMail(query, { mail_id, kind, sealed });
}

/** What a mail's content is sealed under. */
export function mailContext(mail_id: string): string {
  return `mail ${mail_id}`;
}
