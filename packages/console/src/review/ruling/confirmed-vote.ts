/** Votes that a person confirms, because a rule asks for it (docs/decisions/0067-signed-rulings.md). */
import type { Escalation, RulingInput } from "@countersign/contract";
import { strictestConfirm } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useClient } from "../../api/session.tsx";
import { knowsPasskeys, showPasskey } from "../../browser/passkeys.ts";

/** Null: nobody confirms the ruling. */
export function confirmOf({ panels }: Pick<Escalation, "panels">) {
  return strictestConfirm(panels.map(({ confirm }) => confirm));
}

/** Returns what the service still asks for. Null: the error is about something else. */
export function confirmAsked(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null;
  if (error.code === "confirmation_required") return String(error.details[0]?.["code"]);
  return error.code === "confirmation_invalid" && error.details[0]?.["path"] === "/confirmation/totp" ? "totp" : null;
}

/**
 * Votes, and signs with a passkey where the service asks for it. The first request has no signature, so that the device
 * asks its user only if nothing else refuses the vote.
 */
export function useConfirmedVote() {
  const client = useClient();
  return async (escalation_id: string, ruling: RulingInput): Promise<Escalation> => {
    try {
      return await client.decideEscalation(escalation_id, ruling);
    } catch (error) {
      if (confirmAsked(error) !== "passkey") throw error;
    }
    const { outcome, modifications } = ruling;
    const { options } = await client.beginConfirmation(escalation_id, {
      outcome,
      ...(modifications === undefined ? {} : { modifications }),
    });
    if (!knowsPasskeys()) throw new DOMException("This page has no passkeys.", "SecurityError");
    const passkey = await showPasskey(options);
    return client.decideEscalation(escalation_id, { ...ruling, confirmation: { passkey } });
  };
}
