/** Warnings about API keys in words. */
import type { KeyWarning } from "@countersign/contract";

/** What a warning says, in a few words. */
export const warningTexts: Readonly<Record<KeyWarning, string>> = {
  unbound: "unbound while a membrane is live",
  admin_submits: "an admin key that submits",
  expires_soon: "expires soon",
};
