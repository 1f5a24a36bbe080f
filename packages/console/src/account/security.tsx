import { limits, type MadeChoices, type MadeThing, roleMeets, type Session, type User } from "@countersign/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useClient, useSession } from "../api/session.tsx";
import { Confirm } from "../parts/forms/dialog.tsx";
import { TextField } from "../parts/forms/field.tsx";
import { MadeDialog, undecidedThings } from "../parts/forms/made-dialog.tsx";
import { Loaded } from "../parts/states.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { AbsenceForm } from "./absence.tsx";
import { Notices } from "./notices.tsx";
import { FormError } from "./outside.tsx";
import { OwnName } from "./own-name.tsx";
import { Passkeys } from "./passkeys.tsx";
import { useRefreshAccount } from "./refresh-account.ts";
import { SecondFactor } from "./second-factor.tsx";
import { Sessions } from "./sessions.tsx";

export function Security() {
  const client = useClient();
  const query = useQuery({ queryKey: ["session"], queryFn: () => client.getSession() });
  return (
    <Loaded query={query} what="your account">
      {(session: Session) => (session.user === null ? null : <Person user={session.user} />)}
    </Loaded>
  );
}

function Person({ user }: { readonly user: User }) {
  return (
    <>
      <OwnName user={user} />
      <SecondFactor user={user} />
      <Passkeys />
      <Sessions />
      <Password email={user.email} />
      {roleMeets(user.role, ["reviewer"]) && <Notices user={user} />}
      {roleMeets(user.role, ["reviewer"]) && (
        <section className="card stack" aria-label="Absence">
          <h2>Absence</h2>
          <AbsenceForm user_id={user.user_id} />
        </section>
      )}
      <Leave />
    </>
  );
}

function Password({ email }: { readonly email: string }) {
  const client = useClient();
  const refresh = useRefreshAccount();
  const toasts = useToasts();
  const change = useMutation({
    mutationFn: (form: FormData) =>
      client.changePassword({
        current_password: String(form.get("current_password")),
        password: String(form.get("password")),
      }),
    onSuccess: () => {
      toasts.done("Password changed", "Every other session has ended.");
      refresh();
    },
  });
  return (
    <section className="card stack" aria-label="Password">
      <h2>Password</h2>
      <form
        className="stack"
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          const form = event.currentTarget;
          change.mutate(new FormData(form), { onSuccess: () => form.reset() });
        }}
      >
        {/* Tells a password manager which account the password belongs to. */}
        <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
        <TextField
          label="Current password"
          name="current_password"
          type="password"
          autoComplete="current-password"
          required
        />
        <TextField
          label="New password"
          name="password"
          type="password"
          autoComplete="new-password"
          required
          minLength={limits.password_chars_min}
        />
        <FormError error={change.error} wrong="Check the current password." />
        <div className="actions start">
          <button type="submit" className="button" disabled={change.isPending}>
            Change
          </button>
        </div>
      </form>
    </section>
  );
}

function Leave() {
  const client = useClient();
  const { signOut } = useSession();
  const toasts = useToasts();
  const [asked, setAsked] = useState(false);
  const [things, setThings] = useState<readonly MadeThing[] | null>(null);
  const leave = useMutation({
    mutationFn: async (made?: MadeChoices) => {
      await client.leaveOrganization(made);
      await signOut();
    },
    onError: (error) => {
      const listed = undecidedThings(error);
      setThings(listed);
      if (listed === null) toasts.failed(error);
    },
    onSettled: () => setAsked(false),
  });
  return (
    <section className="card stack" aria-label="Membership">
      <h2>Membership</h2>
      <div className="actions start">
        <button type="button" className="button bad" onClick={() => setAsked(true)}>
          Leave the organization
        </button>
      </div>
      {asked && (
        <Confirm
          title="Leave the organization?"
          action="Leave"
          tone="bad"
          busy={leave.isPending}
          onConfirm={() => leave.mutate(undefined)}
          onClose={() => setAsked(false)}
        >
          <p>You are signed out everywhere. Only an invitation brings you back.</p>
        </Confirm>
      )}
      {things !== null && (
        <MadeDialog
          things={things}
          action="Leave"
          busy={leave.isPending}
          onConfirm={(made) => leave.mutate(made)}
          onClose={() => setThings(null)}
        />
      )}
    </section>
  );
}
