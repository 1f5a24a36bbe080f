import { actionTypes, type CatalogueEntry, dataClasses, foldName, limits } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId } from "react";
import { useClient } from "../../api/session.tsx";
import { Failed } from "../states.tsx";
import { Data } from "../tables/data.tsx";
import { useToasts } from "../toasts.tsx";
import { Dialog } from "./dialog.tsx";
import { TextField } from "./field.tsx";

export function ToolDialog({
  membrane_id,
  tool,
  known,
  onClose,
}: {
  readonly membrane_id: string;
  /** Null: a new tool, whose name the form asks for. */
  readonly tool: CatalogueEntry | null;
  /** The catalogue has the tool, so it can forget it. */
  readonly known: boolean;
  readonly onClose: () => void;
}) {
  const save = useSave(membrane_id, onClose);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entry = entryOf(new FormData(event.currentTarget), tool);
    save.mutate({ verb: entry.verb, entry });
  };
  return (
    <Dialog title="What is this tool?" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {tool === null ? (
          <TextField
            label="Tool"
            name="verb"
            required
            maxLength={limits.verb_chars_max}
            hint="Its name, as agents give it"
          />
        ) : (
          <p>
            {"From now on, rules judge every call of "}
            <strong className="mono">
              <Data text={tool.verb} />
            </strong>
            {" by this entry, whatever the agent calls it."}
          </p>
        )}
        <TypeField type={tool?.type ?? ""} />
        <TextField
          label="Data classes"
          name="data_classes"
          defaultValue={tool?.data_classes.join(", ") ?? ""}
          hint={`Separated by commas; empty: as the agent says. The packs know ${Object.keys(dataClasses).join(", ")}.`}
        />
        {save.error !== null && <Failed error={save.error} />}
        <div className="actions">
          {tool !== null && known && (
            <button
              type="button"
              className="button bad"
              disabled={save.isPending}
              onClick={() => save.mutate({ verb: tool.verb, entry: null })}
            >
              Forget the tool
            </button>
          )}
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={save.isPending}>
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function entryOf(form: FormData, tool: CatalogueEntry | null): CatalogueEntry {
  const text = (name: string) => String(form.get(name)).trim().toLowerCase();
  return {
    verb: tool?.verb ?? String(form.get("verb")).trim(),
    type: text("type"),
    data_classes: [...new Set(text("data_classes").split(/\s*,\s*/))].filter((name) => name !== ""),
    ...(tool?.parameters !== undefined && { parameters: tool.parameters }),
  };
}

/** `entry` null removes the verb. */
function useSave(membrane_id: string, onSaved: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: async ({ verb, entry }: { readonly verb: string; readonly entry: CatalogueEntry | null }) => {
      // Reads the catalogue again, because it is saved as a whole and others may have added to it.
      const { action_catalogue } = await client.getMembrane(membrane_id);
      const at = action_catalogue.findIndex((each) => foldName(each.verb) === foldName(verb));
      const changed = entry === null ? [] : [entry];
      return client.changeMembrane(membrane_id, {
        action_catalogue: at === -1 ? [...action_catalogue, ...changed] : action_catalogue.toSpliced(at, 1, ...changed),
      });
    },
    onSuccess: () => {
      toasts.done("Saved", "It applies from the next decision on.");
      void queries.invalidateQueries({ queryKey: ["membranes"] });
      onSaved();
    },
  });
}

/** Accepts any case, and spaces around the type. `entryOf` removes both. */
const actionType = {
  pattern: String.raw`\s*[A-Za-z][A-Za-z0-9_\-]*(\.[A-Za-z0-9_\-]+)*\s*`,
  title: "Letters, digits, _ and -, in parts with dots between them, such as payment.transfer",
} as const;

function TypeField({ type }: { readonly type: string }) {
  const types = useId();
  return (
    <>
      <TextField
        label="Action type"
        name="type"
        required
        list={types}
        defaultValue={type}
        maxLength={limits.action_type_chars_max}
        {...actionType}
        hint="The packs know the suggested types. Others are for your own policies."
      />
      <datalist id={types}>
        {Object.entries(actionTypes).map(([name, meaning]) => (
          <option key={name} value={name} label={meaning} />
        ))}
      </datalist>
    </>
  );
}
