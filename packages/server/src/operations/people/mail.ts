import type { Contradiction } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { insertMail } from "../../store/people/mails.ts";
import type { Runtime } from "../runtime.ts";

/** Content by kind. Tokens are the texts of links; they are stored nowhere else. */
export interface MailContents {
  readonly signup: { readonly to: string; readonly org_name: string; readonly token: string };
  readonly password: { readonly to: string };
  readonly invitation: {
    readonly to: string;
    readonly org_name: string;
    readonly role: string;
    readonly token: string;
  };
  readonly account: {
    readonly to: string;
    readonly change: AccountChange;
    /** For a changed password: number of passkeys that still sign in. */
    readonly passkeys?: number;
  };
  readonly domain: { readonly to: string; readonly domain: string; readonly event: "conflict" | "ended" };
  readonly contradiction: {
    readonly to: string;
    readonly intent_id: string;
    readonly agent_id: string;
    readonly because: Contradiction;
  };
  readonly counters_full: {
    readonly to: string;
    readonly intent_id: string;
    readonly agent_id: string;
    /** For example `count.spent`. */
    readonly counters: readonly string[];
  };
  readonly membrane: {
    readonly to: string;
    readonly membrane: string;
    readonly status: "live" | "shadow";
    readonly reason: string | null;
    /** False: a second person must confirm. */
    readonly moved: boolean;
  };
  readonly nobody_can_decide: {
    readonly to: string;
    readonly rules: readonly { readonly policy: string; readonly membrane: string }[];
    readonly more: number;
  };
  readonly rollout_stopped: {
    readonly to: string;
    readonly membrane: string;
    readonly share: number;
    /** The smaller share that is still held. Absent: holds were not returned. */
    readonly holds_share?: number;
    readonly breaches: readonly string[];
  };
  /** Without the path of the URL, because it may have a secret. */
  readonly webhook_failing: {
    readonly to: string;
    readonly host: string;
    readonly failures: number;
    readonly paused: boolean;
  };
  readonly key_expiry: {
    readonly to: string;
    readonly keys: readonly {
      readonly key_id: string;
      readonly name: string | null;
      readonly role: string;
      readonly expires_at: string;
    }[];
    readonly more: number;
  };
  /** Actions that wait for this reviewer. Contains no text of the agent; the console shows that. */
  readonly escalations: {
    readonly to: string;
    readonly org_id: string;
    readonly user_id: string;
    readonly waiting: readonly WaitingAction[];
    readonly more: number;
    /** The mail of a day. Absent: false. */
    readonly daily?: true;
  };
  /** A push notice for a browser of a reviewer. */
  readonly push: {
    readonly org_id: string;
    readonly device_id: string;
    readonly title: string;
    readonly body: string;
    readonly path: string;
    readonly ttl_seconds: number;
    readonly urgency: "normal" | "high";
  };
}

export type AccountChange =
  | "password_changed"
  | "mfa_enabled"
  | "mfa_disabled"
  | "recovery_codes_replaced"
  | "passkey_registered"
  | "passkey_deleted";

export interface WaitingAction {
  readonly escalation_id: string;
  readonly agent_id: string;
  readonly type: string;
  readonly verb?: string;
  readonly expires_at: string;
  readonly rules?: readonly string[];
  readonly reminder?: "half" | "tenth";
}

export type MailKind = keyof MailContents;

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

export function mailContext(mail_id: string): string {
  return `mail ${mail_id}`;
}
