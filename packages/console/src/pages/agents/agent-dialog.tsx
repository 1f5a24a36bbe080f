import { limits, type RegisteredAgent } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../../api/session.tsx";
import { Dialog, FormActions } from "../../parts/forms/dialog.tsx";
import { TextArea, TextField } from "../../parts/forms/field.tsx";
import { Failed } from "../../parts/states.tsx";
import { useToasts } from "../../parts/toasts.tsx";

/** `agent` null: a new one. */
export function AgentDialog({
  agent,
  onClose,
}: {
  readonly agent: RegisteredAgent | null;
  readonly onClose: () => void;
}) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const save = useMutation({
    mutationFn: (form: FormData) => {
      const text = (name: string) => String(form.get(name) ?? "").trim() || null;
      const input = { owner: text("owner"), purpose: text("purpose"), parent_id: text("parent_id") };
      return client.registerAgent(agent?.agent_id ?? text("agent_id") ?? "", input);
    },
    onSuccess: () => {
      toasts.done("Saved", "It applies from the next decision on.");
      void queries.invalidateQueries({ queryKey: ["agents"] });
      onClose();
    },
  });
  return (
    <Dialog title={agent === null ? "Register an agent" : "Change the details"} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(new FormData(event.currentTarget));
        }}
      >
        {agent === null && (
          <TextField
            label="Agent id"
            name="agent_id"
            hint="The id that the agent sends with its actions."
            required
            maxLength={limits.agent_id_chars_max}
          />
        )}
        <TextField
          label="Owner"
          name="owner"
          hint="Who answers for it."
          maxLength={limits.name_chars_max}
          defaultValue={agent?.owner ?? ""}
        />
        <TextArea
          label="Purpose"
          name="purpose"
          rows={3}
          maxLength={limits.agent_purpose_chars_max}
          defaultValue={agent?.purpose ?? ""}
        />
        <TextField
          label="Works for the agent"
          name="parent_id"
          hint="Rules and freezes that name this agent bind its sub-agents, too. Empty: none."
          maxLength={limits.agent_id_chars_max}
          defaultValue={agent?.parent_id ?? ""}
        />
        {save.error !== null && <Failed error={save.error} />}
        <FormActions action="Save" disabled={save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
