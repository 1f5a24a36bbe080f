/** Writes mails in the transaction of the change. The worker sends them. */
import type { Contradiction } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { insertMail } from "../../store/people/mails.ts";
import type { Runtime } from "../runtime.ts";

/** Content by kind. Tokens are the texts of links; they are stored nowhere else. */
export interface MailContents {
  readonly signup: { readonly to: string; readonly org_name: string; readonly token: string };
  /** The address may be unknown. The sender looks it up. */
  readonly password: { readonly to: string };
  readonly invitation: {
    readonly to: string;
    readonly org_name: string;
    readonly role: string;
    readonly token: string;
  };
  /** A change of how a person signs in, possibly by someone else. */
  readonly account: {
    readonly to: string;
    readonly change: AccountChange;
    /** For a changed password: number of passkeys that still sign in. */
    readonly passkeys?: number;
  };
  /** For the admins of an affected organization. */
  readonly domain: { readonly to: string; readonly domain: string; readonly event: "conflict" | "ended" };
  /** An action executed without permission. */
  readonly contradiction: {
    readonly to: string;
    readonly intent_id: string;
    readonly agent_id: string;
    readonly because: Contradiction;
  };
  /** For admins: live rules without reviewers. */
  readonly nobody_can_decide: {
    readonly to: string;
    readonly rules: readonly { readonly policy: string; readonly membrane: string }[];
    /** Number of unlisted rules. */
    readonly more: number;
  };
  /** For admins: keys that expire soon, in order of expiry. */
  readonly key_expiry: {
    readonly to: string;
    readonly keys: readonly {
      readonly key_id: string;
      readonly name: string | null;
      readonly role: string;
      readonly expires_at: string;
    }[];
    /** Number of unlisted keys. */
    readonly more: number;
  };
  /** Actions that wait for this reviewer. Contains no text of the agent; the console shows that. */
  readonly escalations: {
    readonly to: string;
    readonly org_id: string;
    readonly user_id: string;
    readonly waiting: readonly WaitingAction[];
    /** Number of unlisted actions. */
    readonly more: number;
  };
}

/** Changes of how a person signs in. Equal to the types of their audit rows. */
export type AccountChange =
  | "password_changed"
  | "mfa_enabled"
  | "mfa_disabled"
  | "recovery_codes_replaced"
  | "passkey_registered"
  | "passkey_deleted";

interface WaitingAction {
  readonly escalation_id: string;
  readonly agent_id: string;
  readonly type: string;
  /** The tool. Absent in mails of earlier releases. */
  readonly verb?: string;
  readonly expires_at: string;
  /** Rules for which this reviewer is asked. Absent in mails of earlier releases. */
  readonly rules?: readonly string[];
  /** Half of the time is over, or a tenth is left. Absent: no reminder. */
  readonly reminder?: "half" | "tenth";
}

export type MailKind = keyof MailContents;

/** Queues a mail in a system transaction. */
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

/** Sealing context of a mail's content. */
export function mailContext(mail_id: string): string {
  return `mail ${mail_id}`;
}
