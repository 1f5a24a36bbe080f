import {
  type KeyBindings,
  type KeyBindingsInput,
  limits,
  type Membrane,
  onlySubmits,
  type Role,
} from "@countersign/contract";
import { TextArea } from "../../../parts/forms/field.tsx";
import { Data } from "../../../parts/tables/data.tsx";

export type BindingDefaults = Pick<KeyBindings, "membrane_ids" | "agent_ids" | "source_cidrs">;

/** A new agent's key may submit to the default membrane. */
export function usualBindings(membranes: readonly Membrane[]): BindingDefaults {
  const own = membranes.find(({ is_default }) => is_default);
  return { membrane_ids: own === undefined ? null : [own.membrane_id], agent_ids: null, source_cidrs: null };
}

const lines = (form: FormData, name: string): string[] | null => {
  const texts = String(form.get(name) ?? "").split("\n");
  const filled = texts.map((text) => text.trim()).filter((text) => text !== "");
  return filled.length === 0 ? null : filled;
};

/**
 * Returns the bindings in the form; null: unbound. Agents' keys never ask for shadow mode, unless their environment is
 * shadow. `before` keeps bindings without a field.
 */
export function bindingsIn(form: FormData, { role, environment, before = null }: Asked): KeyBindingsInput | null {
  const chosen = form.getAll("membrane_ids").map(String);
  const of_agent = {
    membrane_ids: chosen.length === 0 ? null : chosen,
    agent_ids: lines(form, "agent_ids"),
    forbid_shadow: environment !== "shadow",
  };
  const bindings = { ...before, ...(onlySubmits(role) ? of_agent : {}), source_cidrs: lines(form, "source_cidrs") };
  const binds = Object.values(bindings).some((each) => each !== null && each !== false);
  return binds ? bindings : null;
}

interface Asked {
  readonly role: Role;
  readonly environment: string;
  readonly before?: KeyBindings | null;
}

export function BindingFields({
  role,
  membranes,
  defaults,
  fixed_agent = false,
}: {
  readonly role: Role;
  readonly membranes: readonly Membrane[];
  readonly defaults: BindingDefaults;
  /** The key's scope already binds it to an agent. */
  readonly fixed_agent?: boolean;
}) {
  return (
    <>
      {onlySubmits(role) && !fixed_agent && (
        <TextArea
          label="Agents"
          name="agent_ids"
          hint={`The ids of the agents that may use the key, one per line.${role === "host" ? "" : " Empty: every agent."}`}
          required={role === "host"}
          rows={2}
          maxLength={limits.key_bindings_max * (limits.agent_id_chars_max + 1)}
          defaultValue={defaults.agent_ids?.join("\n") ?? ""}
        />
      )}
      {onlySubmits(role) && (
        <fieldset className="stack tight">
          <legend>Membranes</legend>
          <p className="hint">Where the key may submit. None: everywhere. The key cannot request shadow mode.</p>
          {membranes.map(({ membrane_id, name }) => (
            <label key={membrane_id} className="check">
              <input
                type="checkbox"
                name="membrane_ids"
                value={membrane_id}
                defaultChecked={defaults.membrane_ids?.includes(membrane_id) ?? false}
              />
              <Data text={name} />
            </label>
          ))}
        </fieldset>
      )}
      <TextArea
        label="Networks"
        name="source_cidrs"
        hint="Networks that requests must come from, one per line, such as 10.1.0.0/16. Empty: any."
        rows={2}
        maxLength={limits.key_bindings_max * (limits.cidr_chars_max + 1)}
        defaultValue={defaults.source_cidrs?.join("\n") ?? ""}
      />
    </>
  );
}
