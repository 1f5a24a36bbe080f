import { roleMeets, type User } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { useClient } from "../api/session.tsx";
import { SelectField, TextField } from "../parts/forms/field.tsx";
import { personText, useEverybody, Who } from "../parts/records/who.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { FormError } from "./outside.tsx";

export function AbsenceLine({ absence }: { readonly absence: User["absence"] | undefined }) {
  if (absence === undefined) return null;
  return (
    <p className="small muted">
      {"Away "}
      <Time at={absence.from} />
      {" until "}
      <Time at={absence.until} />
      {". "}
      <Who id={absence.delegate} />
      {absence.may_vote ? " votes instead." : " gets the mails."}
    </p>
  );
}

export function AbsenceForm({ user_id, onDone }: { readonly user_id: string; readonly onDone?: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const { data: everybody } = useEverybody(true, true);
  const absence = everybody?.get(user_id)?.absence;
  const settled = (title: string) => {
    toasts.done(title);
    void queries.invalidateQueries({ queryKey: ["people"] });
    onDone?.();
  };
  const set = useMutation({
    mutationFn: (form: FormData) =>
      client.setAbsence(user_id, {
        until: new Date(String(form.get("until"))).toISOString(),
        delegate: String(form.get("delegate")),
      }),
    onSuccess: () => settled("Absence saved"),
  });
  const end = useMutation({ mutationFn: () => client.endAbsence(user_id), onSuccess: () => settled("Absence ended") });
  const others = [...(everybody?.values() ?? [])].filter(
    (user) => user.user_id !== user_id && roleMeets(user.role, ["reviewer"]),
  );
  return (
    <form
      className="stack"
      onSubmit={(event: FormEvent<HTMLFormElement>) => {
        event.preventDefault();
        set.mutate(new FormData(event.currentTarget));
      }}
    >
      <AbsenceLine absence={absence} />
      <TextField label="Away until" name="until" type="datetime-local" required />
      <SelectField
        label="Substitute"
        name="delegate"
        hint="Gets the mails about reviews. Also votes in place of the absent person if an admin chose the delegate."
        required
        options={others.map((user) => [user.user_id, personText(user)] as const)}
      />
      <FormError error={set.error ?? end.error} />
      <div className="actions start">
        <button type="submit" className="button primary" disabled={set.isPending || others.length === 0}>
          Save absence
        </button>
        {absence !== undefined && (
          <button type="button" className="button" disabled={end.isPending} onClick={() => end.mutate()}>
            End absence
          </button>
        )}
      </div>
    </form>
  );
}
