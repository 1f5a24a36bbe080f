import type { Escalation } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { TextField } from "../../parts/forms/field.tsx";
import { confirmOf } from "./confirmed-vote.ts";

const told = {
  passkey: "A rule asks you to sign this ruling. Your device asks for your passkey when you decide.",
  totp: "A rule asks for a code of your authenticator.",
} as const;

/** Says what a rule asks for, takes the code, and leads people who cannot confirm yet to their settings. */
export function ConfirmFields({
  escalation,
  asked,
  code,
  onCode,
}: {
  readonly escalation: Escalation;
  /** The confirmation that the last answer asked for; null: none. */
  readonly asked: string | null;
  /** Null: no code is asked for. */
  readonly code: string | null;
  readonly onCode: (code: string) => void;
}) {
  const confirm = confirmOf(escalation);
  const missing = asked === "no_passkey" ? "passkey" : asked === "no_authenticator" ? "authenticator" : null;
  return (
    <>
      {confirm !== null && missing === null && <p className="small">{told[confirm]}</p>}
      {code !== null && (
        <TextField
          label="Code of your authenticator"
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={16}
          value={code}
          onChange={(event) => onCode(event.target.value)}
        />
      )}
      {missing !== null && (
        <p className="small">
          <Link to="/settings" target="_blank">
            {missing === "passkey" ? "Add a passkey" : "Set up an authenticator"}
          </Link>
          {" in your settings, then decide again here."}
        </p>
      )}
    </>
  );
}
