import type { Session } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useMutation } from "@tanstack/react-query";
import { Link, useLocation, useNavigate, useRouter } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { FormError, Outside, wrong_code } from "../account/outside.tsx";
import { SingleSignOnForm } from "../account/single-sign-on.tsx";
import { useSession } from "../api/session.tsx";
import { knowsPasskeys, showPasskey } from "../browser/passkeys.ts";
import { takenAddress } from "../browser/storage.ts";
import { EmailField, TextField } from "../parts/forms/field.tsx";

function KeyForm() {
  const { signIn } = useSession();
  const [key, setKey] = useState("");
  const enter = useMutation({ mutationFn: () => signIn(key.trim()) });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        enter.mutate();
      }}
    >
      <TextField
        label="API key"
        hint="Kept in this tab only, until you close it."
        type="password"
        autoComplete="off"
        spellCheck={false}
        placeholder="svc_live_org_…"
        value={key}
        onChange={(event) => setKey(event.target.value)}
        required
      />
      <FormError error={enter.error} />
      <div className="actions start">
        <button type="submit" className="button" disabled={enter.isPending || key.trim() === ""}>
          {enter.isPending ? "Looking …" : "Use this key"}
        </button>
      </div>
    </form>
  );
}

function CodeForm({ onDone, onAgain }: { readonly onDone: () => void; readonly onAgain: () => void }) {
  const { client } = useSession();
  const verify = useMutation({
    mutationFn: (code: string) => client.verifyMfa(code),
    onSuccess: onDone,
    // Another tab completed the login: the person is signed in.
    onError: (error) => {
      if (error instanceof ApiError && error.code === "state_conflict") onDone();
    },
  });
  // After five wrong codes or ten minutes, the service accepts no code.
  if (verify.error instanceof ApiError && verify.error.code === "missing_api_key")
    return (
      <>
        <p role="alert">This sign-in has ended, after five codes or ten minutes. Begin again.</p>
        <button type="button" className="button primary" onClick={onAgain}>
          Begin again
        </button>
      </>
    );
  return (
    <form
      className="stack"
      onSubmit={(event: FormEvent<HTMLFormElement>) => {
        event.preventDefault();
        verify.mutate(String(new FormData(event.currentTarget).get("code")).replaceAll(/\s/g, ""));
      }}
    >
      <TextField
        label="Code"
        name="code"
        hint="Six digits from your authenticator, or a recovery code"
        autoComplete="one-time-code"
        required
        minLength={6}
        maxLength={40}
        autoFocus
      />
      <FormError error={verify.error} wrong={wrong_code} />
      <div className="row between">
        <button type="submit" className="button primary" disabled={verify.isPending}>
          Sign in
        </button>
        <button type="button" className="button" onClick={onAgain}>
          Begin again
        </button>
      </div>
    </form>
  );
}

function PasswordForm({ onSession }: { readonly onSession: (session: Session) => void }) {
  const { client } = useSession();
  const login = useMutation({
    mutationFn: (form: FormData) =>
      client.login({ email: String(form.get("email")).trim(), password: String(form.get("password")) }),
    onSuccess: onSession,
  });
  return (
    <form
      className="stack"
      onSubmit={(event: FormEvent<HTMLFormElement>) => {
        event.preventDefault();
        login.mutate(new FormData(event.currentTarget));
      }}
    >
      <EmailField />
      <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
      <FormError error={login.error} wrong="Check the e-mail address and the password." />
      <div className="row between">
        <button type="submit" className="button primary" disabled={login.isPending}>
          {login.isPending ? "Signing in …" : "Sign in"}
        </button>
        <Link to="/forgot-password">Forgot the password?</Link>
      </div>
    </form>
  );
}

function PasskeyButton({ onSession }: { readonly onSession: (session: Session) => void }) {
  const { client } = useSession();
  const login = useMutation({
    mutationFn: async () =>
      client.finishPasskeyLogin({ credential: await showPasskey(await client.beginPasskeyLogin()) }),
    onSuccess: onSession,
  });
  if (!knowsPasskeys()) return null;
  return (
    <>
      <button type="button" className="button" disabled={login.isPending} onClick={() => login.mutate()}>
        {login.isPending ? "Waiting for your device …" : "Sign in with a passkey"}
      </button>
      <FormError
        error={login.error}
        wrong="The service does not know this passkey. Sign in another way, and delete it from your device."
      />
    </>
  );
}

export function SingleSignOnPage() {
  const { client, refresh } = useSession();
  const { history } = useRouter();
  const org_id = location.pathname.slice(location.pathname.lastIndexOf("/") + 1);
  const [waiting, setWaiting] = useState(false);
  const enter = async () => {
    await refresh();
    history.replace(takenAddress() ?? "/");
  };
  const finish = useMutation({
    // Both exactly as in the provider's address.
    mutationFn: () =>
      client.finishSingleSignOn({
        org_id,
        callback_query: location.search.slice(1),
      }),
    onSuccess: async (session) => {
      if (session.mfa_required) setWaiting(true);
      else await enter();
    },
  });
  const { mutate } = finish;
  // With the organization, so that its button appears again.
  const again = { to: "/login", search: { org_id } as never } as const;
  const navigate = useNavigate();
  const begun = useRef(false);
  useEffect(() => {
    // The provider's answer works once.
    if (begun.current) return;
    begun.current = true;
    mutate();
  }, [mutate]);
  return (
    <Outside title={waiting ? "Second step" : finish.error === null ? "Signing in" : "The sign-in failed"}>
      <section className="card stack">
        {waiting ? (
          <CodeForm onDone={() => void enter()} onAgain={() => void navigate(again)} />
        ) : finish.error === null ? (
          <p role="status">One moment …</p>
        ) : (
          <>
            <FormError error={finish.error} />
            <div className="actions start">
              <Link {...again} className="button primary">
                Begin again
              </Link>
            </div>
          </>
        )}
      </section>
    </Outside>
  );
}

export function SignInPage() {
  const { refresh, caller, ended } = useSession();
  const [waiting, setWaiting] = useState(false);
  const navigate = useNavigate();
  const { pathname, search } = useLocation();
  const { org_id } = search as { readonly org_id?: string };
  // Open mode's admin is not a person. People with an account sign in as themselves.
  const is_somebody = caller !== null && caller.type !== "open_mode";
  useEffect(() => {
    if (is_somebody && pathname === "/login") void navigate({ to: "/" });
  }, [is_somebody, pathname, navigate]);
  const enter = (session: Session) => {
    if (session.mfa_required) setWaiting(true);
    else void refresh();
  };
  if (waiting)
    return (
      <Outside title="Second step" about="The password is correct. Now enter the second factor.">
        <section className="card stack">
          <CodeForm onDone={() => void refresh()} onAgain={() => setWaiting(false)} />
        </section>
      </Outside>
    );
  return (
    <Outside title="Sign in">
      {ended && (
        <div className="banner warn" role="alert">
          <div>
            <strong>Your session has ended</strong>
            Sign in again: you return to this page, and this tab keeps your unsent text.
          </div>
        </div>
      )}
      <section className="card stack">
        <PasswordForm onSession={enter} />
        <PasskeyButton onSession={enter} />
      </section>
      {org_id !== undefined && (
        <section className="card stack">
          <SingleSignOnForm org_id={org_id} />
        </section>
      )}
      <details className="card">
        <summary>Through your organization</summary>
        <div className="stack unfolded">
          <SingleSignOnForm org_id={undefined} />
        </div>
      </details>
      <details className="card">
        <summary>With an API key</summary>
        <div className="stack unfolded">
          <KeyForm />
        </div>
      </details>
      <p className="muted">
        {"New here? "}
        <Link to="/signup">Create an account</Link>
        {" or "}
        <Link to="/welcome">an organization with just a key</Link>.
      </p>
    </Outside>
  );
}
