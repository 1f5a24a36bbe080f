import type { KeyWarning } from "@countersign/contract";

export const warningTexts: Readonly<Record<KeyWarning, string>> = {
  unbound: "unbound while a membrane is live",
  admin_submits: "an admin key that submits actions",
  expires_soon: "expires soon",
};
