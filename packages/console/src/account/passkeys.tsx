import { limits, type Passkey } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useClient } from "../api/session.tsx";
import { knowsPasskeys, makePasskey } from "../browser/passkeys.ts";
import { Confirm, Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { TextField } from "../parts/forms/field.tsx";
import { Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { asksForPassword, FormError } from "./outside.tsx";

export function Passkeys() {
  const [adding, setAdding] = useState(false);
  const [doomed, setDoomed] = useState<Passkey | null>(null);
  const { query, remove, onAdded } = usePasskeys(() => setDoomed(null));
  return (
    <section className="card stack" aria-label="Passkeys">
      <div className="row between">
        <h2>Passkeys</h2>
        {knowsPasskeys() && (
          <button type="button" className="button small" onClick={() => setAdding(true)}>
            Add a passkey
          </button>
        )}
      </div>
      <p className="muted">Sign in with your device instead of a password. A false page cannot steal a passkey.</p>
      <Loaded query={query} what="your passkeys">
        {(passkeys) => <PasskeyList passkeys={passkeys} onDelete={setDoomed} />}
      </Loaded>
      {adding && (
        <AddDialog
          onClose={() => setAdding(false)}
          onAdded={() => {
            setAdding(false);
            onAdded();
          }}
        />
      )}
      {doomed !== null && (
        <Confirm
          title="Delete this passkey?"
          action="Delete"
          tone="bad"
          busy={remove.isPending}
          onConfirm={() => remove.mutate(doomed)}
          onClose={() => setDoomed(null)}
        >
          <p>
            <Data text={doomed.name} /> can no longer be used to sign in.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function usePasskeys(onRemoved: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const query = useQuery({
    queryKey: ["session", "passkeys"],
    queryFn: async () => (await client.listPasskeys()).passkeys,
  });
  const refresh = () => void queries.invalidateQueries({ queryKey: ["session", "passkeys"] });
  const remove = useMutation({
    mutationFn: (passkey: Passkey) => client.deletePasskey(passkey.passkey_id),
    onSuccess: () => toasts.done("Passkey deleted"),
    onError: toasts.failed,
    onSettled: () => {
      onRemoved();
      refresh();
    },
  });
  const onAdded = () => {
    toasts.done("Passkey added");
    refresh();
  };
  return { query, remove, onAdded };
}

function PasskeyList({
  passkeys,
  onDelete,
}: {
  readonly passkeys: readonly Passkey[];
  readonly onDelete: (passkey: Passkey) => void;
}) {
  if (passkeys.length === 0) return <p className="small">None yet.</p>;
  return (
    <ul className="plain stack tight">
      {passkeys.map((passkey) => (
        <li key={passkey.passkey_id} className="row between">
          <span>
            <Data text={passkey.name} />
            <span className="small muted">
              {" made "}
              <Time at={passkey.created_at} />
              {passkey.last_used_at !== null && (
                <>
                  {", used "}
                  <Time at={passkey.last_used_at} />
                </>
              )}
            </span>
          </span>
          <button type="button" className="button small" onClick={() => onDelete(passkey)}>
            Delete
          </button>
        </li>
      ))}
    </ul>
  );
}

function AddDialog({ onClose, onAdded }: { readonly onClose: () => void; readonly onAdded: () => void }) {
  const client = useClient();
  const [asksPassword, setAsksPassword] = useState(false);
  const add = useMutation({
    mutationFn: async ({ name, password }: { readonly name: string; readonly password: string }) => {
      const proof = password === "" ? {} : { password };
      const credential = await makePasskey(await client.beginPasskeyRegistration(proof));
      return client.finishPasskeyRegistration({ credential, ...(name === "" ? {} : { name }) });
    },
    onSuccess: onAdded,
    onError: (error) => setAsksPassword((asked) => asked || asksForPassword(error)),
  });
  return (
    <Dialog title="Add a passkey" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          add.mutate({ name: String(form.get("name")).trim(), password: String(form.get("password") ?? "") });
        }}
      >
        <TextField
          label="Name"
          name="name"
          hint="For example: my laptop"
          maxLength={limits.name_chars_max}
          autoComplete="off"
        />
        {asksPassword && (
          <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
        )}
        <FormError error={add.error} wrong="Check the password." />
        <FormActions
          action={add.isPending ? "Waiting for your device …" : "Go on"}
          disabled={add.isPending}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}
