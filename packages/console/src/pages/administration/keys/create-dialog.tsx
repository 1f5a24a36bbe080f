/** The form of a new API key. */
import { type ApiKeyCreated, type ApiKeyInput, limits, onlySubmits, type Role } from "@countersign/contract";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useClient, useSession } from "../../../api/session.tsx";
import { Dialog, FormActions } from "../../../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../../../parts/forms/field.tsx";
import { Failed } from "../../../parts/states.tsx";

const roles = [
  ["agent", "agent: submits intents, reads its own"],
  ["host", "host: submits for an agent, vouches for its facts"],
  ["reviewer", "reviewer: decides escalations"],
  ["operator", "operator: overrides, context, deliveries"],
  ["admin", "admin: everything"],
  ["auditor", "auditor: reads everything"],
] as const satisfies readonly (readonly [Role, string])[];

const environments = [
  ["live", "live"],
  ["shadow", "shadow: nothing it submits is held"],
  ["test", "test"],
] as const satisfies readonly (readonly [ApiKeyInput["environment"], string])[];

/** The key as the form has it. */
function inputOf(form: FormData, role: Role): ApiKeyInput {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  return {
    role,
    environment: text("environment") as "live",
    expires_in_days: Number(text("days")),
    ...(text("name") === "" ? {} : { name: text("name") }),
    ...(text("agent_id") === "" ? {} : { scope: "agent", agent_id: text("agent_id") }),
  };
}

export function CreateDialog({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (key: ApiKeyCreated) => void;
}) {
  const client = useClient();
  const { caller } = useSession();
  const [role, setRole] = useState<Role>("agent");
  const create = useMutation({
    mutationFn: (input: ApiKeyInput) => client.createApiKey(input),
    onSuccess: onMade,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    create.mutate(inputOf(new FormData(event.currentTarget), role));
  };
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField label="Name" name="name" hint="Such as: refund bot, production" maxLength={limits.name_chars_max} />
        <SelectField
          label="Role"
          value={role}
          onChange={(event) => setRole(event.target.value as Role)}
          options={roles}
        />
        {onlySubmits(role) && (
          <TextField
            label={role === "host" ? "For this agent id" : "Only for this agent id (optional)"}
            name="agent_id"
            required={role === "host"}
            maxLength={limits.agent_id_chars_max}
            autoComplete="off"
          />
        )}
        <SelectField label="Environment" name="environment" options={environments} />
        <TextField
          label="Days until it ends"
          name="days"
          type="number"
          min={1}
          max={limits.api_key_lifetime_days_max}
          defaultValue={limits.api_key_lifetime_days_default}
          required
        />
        {caller?.type === "open_mode" && (
          <div className="banner warn">
            <div>
              <strong>This ends open mode for good</strong>
              Store the key: without one nobody gets in any more. Choose the role admin for the first one.
            </div>
          </div>
        )}
        {create.error !== null && <Failed error={create.error} />}
        <FormActions action="Create" disabled={create.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
