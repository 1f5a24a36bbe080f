import type { KeyWarning, WarnedKey } from "@countersign/contract";
import { names } from "./words.ts";

/** Returns one step for each kind of warning. */
export function keySteps(keys: readonly Pick<WarnedKey, "key_id" | "expires_at" | "warnings">[]): string[] {
  const having = (warning: KeyWarning) => keys.filter(({ warnings }) => warnings.includes(warning));
  const named = (warning: KeyWarning) => names(having(warning).map(({ key_id }) => key_id));
  const step = (warning: KeyWarning, text: string) => (having(warning).length === 0 ? [] : [text]);
  return [
    ...step(
      "unbound",
      `Bind these agent keys: ${named("unbound")}. An unbound key can ask for shadow mode or name another membrane. ` +
        "GET /v1/api-keys/{key_id}/observed-bindings returns what fits, and PATCH /v1/api-keys/{key_id} binds the key.",
    ),
    ...step(
      "admin_submits",
      `Submit with an agent key in place of these admin keys: ${named("admin_submits")}. An admin key can change every rule. ` +
        "Create a bound key of role agent (POST /v1/api-keys) and give it to the agent.",
    ),
    ...step(
      "expires_soon",
      `These keys expire within 14 days: ${named("expires_soon")}. Rotate or replace them (POST /v1/api-keys/{key_id}/rotate).`,
    ),
  ];
}
