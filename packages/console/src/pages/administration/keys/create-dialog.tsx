import { type ApiKey, type ApiKeyCreated, type ApiKeyInput, limits, type Role } from "@countersign/contract";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useClient, useSession } from "../../../api/session.tsx";
import { Dialog, FormActions } from "../../../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../../../parts/forms/field.tsx";
import { useMembranes } from "../../../parts/shadow-banner.tsx";
import { Failed, Loaded } from "../../../parts/states.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { useObserved } from "./bind-dialog.tsx";
import { BindingFields, bindingsIn, usualBindings } from "./binding-fields.tsx";

const roles = [
  ["agent", "agent: submits intents, reads its own"],
  ["host", "host: submits for an agent, vouches for its facts"],
  ["reviewer", "reviewer: decides escalations"],
  ["operator", "operator: overrides, freezes, facts, deliveries"],
  ["admin", "admin: everything"],
  ["auditor", "auditor: reads decisions, rules, audit trail"],
] as const satisfies readonly (readonly [Role, string])[];

const environments = [
  ["live", "live"],
  ["shadow", "shadow: nothing it submits is held"],
  ["test", "test"],
] as const satisfies readonly (readonly [ApiKeyInput["environment"], string])[];

function inputOf(form: FormData, role: Role): ApiKeyInput {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  return {
    role,
    environment: text("environment") as "live",
    expires_in_days: Number(text("days")),
    bindings: bindingsIn(form, { role, environment: text("environment") }),
    ...(text("name") === "" ? {} : { name: text("name") }),
  };
}

export function CreateDialog({
  like = null,
  onClose,
  onMade,
}: {
  /** The admin key that the agent has used until now; null: any new key. */
  readonly like?: ApiKey | null;
  readonly onClose: () => void;
  readonly onMade: (key: ApiKeyCreated) => void;
}) {
  const client = useClient();
  const { caller } = useSession();
  const [role, setRole] = useState<Role>("agent");
  const membranes = useMembranes();
  const observed = useObserved(like?.key_id ?? null);
  const create = useMutation({
    mutationFn: (input: ApiKeyInput) => client.createApiKey(input),
    onSuccess: onMade,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    create.mutate(inputOf(new FormData(event.currentTarget), role));
  };
  return (
    <Dialog title={like === null ? "Create a key" : "Create a key for the agent"} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {like !== null && (
          <p>
            {"Give the new key to the agent that uses "}
            <Data text={like.name ?? like.key_id} />
            {" now. Filled in from that key's submissions in the last 30 days."}
          </p>
        )}
        <TextField label="Name" name="name" hint="Example: refund bot" maxLength={limits.name_chars_max} />
        <SelectField
          label="Role"
          value={role}
          onChange={(event) => setRole(event.target.value as Role)}
          options={roles}
        />
        <Loaded query={membranes} what="the membranes">
          {(known) => (
            <Loaded query={observed} what="recent submissions of the key">
              {(seen) => (
                <BindingFields role={role} membranes={known} defaults={seen?.bindings ?? usualBindings(known)} />
              )}
            </Loaded>
          )}
        </Loaded>
        <SelectField label="Environment" name="environment" options={environments} />
        <TextField
          label="Days until it expires"
          name="days"
          type="number"
          min={1}
          max={limits.api_key_lifetime_days_max}
          defaultValue={limits.api_key_lifetime_days_default}
          required
        />
        {caller?.type === "open_mode" && <EndsOpenMode />}
        {create.error !== null && <Failed error={create.error} />}
        <FormActions
          action="Create"
          disabled={create.isPending || membranes.data === undefined || observed.data === undefined}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}

function EndsOpenMode() {
  return (
    <div className="banner warn">
      <div>
        <strong>This ends open mode permanently</strong>
        Store the key: from then on, every request needs a key. Choose the role admin for the first one.
      </div>
    </div>
  );
}
