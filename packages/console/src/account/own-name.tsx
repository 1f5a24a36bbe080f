import { limits, type User } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { useClient } from "../api/session.tsx";
import { TextField } from "../parts/forms/field.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { FormError } from "./outside.tsx";
import { useRefreshAccount } from "./refresh-account.ts";

/** A name is no address, so that nobody can pass for another person. */
export const nameField = {
  name: "name",
  maxLength: limits.name_chars_max,
  pattern: "[^@]*",
  title: "A name without @",
} as const;

export function OwnName({ user }: { readonly user: User }) {
  const client = useClient();
  const queries = useQueryClient();
  const refresh = useRefreshAccount();
  const toasts = useToasts();
  const change = useMutation({
    mutationFn: (name: string) => client.changeProfile({ name: name === "" ? null : name }),
    onSuccess: () => toasts.done("Name saved"),
    onSettled: () => {
      refresh();
      void queries.invalidateQueries({ queryKey: ["people"] });
    },
  });
  return (
    <section className="card stack" aria-label="Your name">
      <h2>Your name</h2>
      <form
        className="stack"
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          change.mutate(String(new FormData(event.currentTarget).get("name")).trim());
        }}
      >
        <TextField
          {...nameField}
          label="Shown as"
          key={user.name}
          defaultValue={user.name ?? ""}
          autoComplete="name"
          hint="Others see it instead of your address. The audit trail has each change."
        />
        <FormError error={change.error} />
        <div className="actions start">
          <button type="submit" className="button" disabled={change.isPending}>
            Save
          </button>
        </div>
      </form>
    </section>
  );
}
