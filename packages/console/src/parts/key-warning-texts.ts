import type { KeyWarning } from "@countersign/contract";

/** Short texts for warnings about API keys. */
export const warningTexts: Readonly<Record<KeyWarning, string>> = {
  unbound: "unbound while a membrane is live",
  admin_submits: "an admin key that submits actions",
  expires_soon: "expires soon",
};
