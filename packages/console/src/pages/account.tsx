/** Pages that mails link to, and pages that send these mails. None needs a session. */
import { limits, type Passkey } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { FormError, Outside } from "../account/outside.tsx";
import { useSession } from "../api/session.tsx";
import { EmailField, TextField } from "../parts/forms/field.tsx";
import { Data } from "../parts/tables/data.tsx";
import { Time } from "../parts/time.tsx";

/** Reads the token of a mailed link once, and removes it from the address and the history. */
function useToken(): string {
  const { search, pathname } = useLocation();
  const navigate = useNavigate();
  const [token] = useState(() => (search as { readonly token?: string }).token ?? "");
  useEffect(() => void navigate({ to: pathname, search: {} as never, replace: true }), [navigate, pathname]);
  return token;
}

/** A reload needs the link of the mail again. */
function OpenAgain() {
  return <p className="small muted">To continue, open the link in the mail again: this page does not keep it.</p>;
}

function formOf(event: FormEvent<HTMLFormElement>): (name: string) => string {
  event.preventDefault();
  const form = new FormData(event.currentTarget);
  return (name) => String(form.get(name) ?? "");
}

function NewPassword({ optional = false }: { readonly optional?: boolean }) {
  return (
    <TextField
      label="Password"
      name="password"
      type="password"
      autoComplete="new-password"
      hint={`At least ${limits.password_chars_min} characters. A sentence is better than symbols.`}
      required={!optional}
      minLength={limits.password_chars_min}
      maxLength={limits.password_chars_max}
    />
  );
}

function Sent({ text }: { readonly text: string }) {
  return (
    <section className="card stack" role="status">
      <h2>Check your mail</h2>
      <p>{text}</p>
    </section>
  );
}

export function SignupPage() {
  const { client } = useSession();
  const signup = useMutation({
    mutationFn: (input: { org_name: string; email: string; password: string }) => client.signup(input),
  });
  return (
    <Outside title="Create an account" about="An organization of your own, with you as its first admin.">
      {signup.isSuccess ? (
        <Sent text="We have sent a link to the address. Your organization is created when you open it." />
      ) : (
        <form
          className="card stack"
          onSubmit={(event) => {
            const text = formOf(event);
            signup.mutate({
              org_name: text("org_name").trim(),
              email: text("email").trim(),
              password: text("password"),
            });
          }}
        >
          <TextField
            label="Organization"
            name="org_name"
            required
            maxLength={limits.name_chars_max}
            autoComplete="organization"
          />
          <EmailField />
          <NewPassword />
          <FormError error={signup.error} />
          <div className="actions start">
            <button type="submit" className="button primary" disabled={signup.isPending}>
              Create account
            </button>
          </div>
        </form>
      )}
      <p className="muted">
        {"Have one? "}
        <Link to="/login">Sign in</Link>
      </p>
    </Outside>
  );
}

/**
 * Asks for the sign-up's password before it uses the link, because someone else may have signed up with this address,
 * and mail scanners follow links.
 */
export function VerifyEmailPage() {
  const { client } = useSession();
  const token = useToken();
  const verify = useMutation({ mutationFn: (password: string) => client.verifyEmail({ token, password }) });
  return (
    <Outside title="Confirm your address">
      <section className="card stack">
        {verify.isSuccess ? (
          <>
            <p role="status">Your address is confirmed and your organization is ready.</p>
            <Link to="/login" className="button primary">
              Sign in
            </Link>
          </>
        ) : (
          <form className="stack" onSubmit={(event) => verify.mutate(formOf(event)("password"))}>
            <p>If you did not sign up yourself, close this page: nothing is created.</p>
            <TextField
              label="Password"
              name="password"
              type="password"
              autoComplete="current-password"
              hint="The one you chose when you signed up."
              required
              maxLength={limits.password_chars_max}
            />
            <FormError error={verify.error} wrong="Wrong password. Enter the one you chose when you signed up." />
            <div className="actions start">
              <button type="submit" className="button primary" disabled={verify.isPending || token === ""}>
                Confirm
              </button>
            </div>
            {token === "" && <OpenAgain />}
            {verify.isError && (
              <p className="small muted">
                {"A link works once and expires. If you have not signed in yet, "}
                <Link to="/signup">sign up again</Link>.
              </p>
            )}
          </form>
        )}
      </section>
    </Outside>
  );
}

export function ForgotPasswordPage() {
  const { client } = useSession();
  const ask = useMutation({ mutationFn: (email: string) => client.forgotPassword(email) });
  return (
    <Outside title="Set a new password">
      {ask.isSuccess ? (
        <Sent text="If this service knows the address, we have sent a link. It is valid for an hour." />
      ) : (
        <form className="card stack" onSubmit={(event) => ask.mutate(formOf(event)("email").trim())}>
          <EmailField />
          <FormError error={ask.error} />
          <div className="actions start">
            <button type="submit" className="button primary" disabled={ask.isPending}>
              Send a link
            </button>
          </div>
        </form>
      )}
      <p className="muted">
        <Link to="/login">Back to sign-in</Link>
      </p>
    </Outside>
  );
}

export function ResetPasswordPage() {
  const { client } = useSession();
  const token = useToken();
  const passkeys = useQuery({
    queryKey: ["reset-passkeys", token],
    queryFn: () => client.listResetPasskeys(token),
    enabled: token !== "",
    retry: false,
  });
  const reset = useMutation({
    mutationFn: (form: FormData) =>
      client.resetPassword({
        token,
        password: String(form.get("password")),
        remove_passkeys: form.get("remove_passkeys") === "on",
      }),
  });
  return (
    <Outside title="Set a new password">
      {reset.isSuccess ? (
        <section className="card stack">
          <p role="status">The new password is set. You are signed out everywhere.</p>
          <Link to="/login" className="button primary">
            Sign in
          </Link>
        </section>
      ) : (
        <form
          className="card stack"
          onSubmit={(event) => {
            event.preventDefault();
            reset.mutate(new FormData(event.currentTarget));
          }}
        >
          <NewPassword />
          {passkeys.data !== undefined && passkeys.data.length > 0 && <ResetPasskeys passkeys={passkeys.data} />}
          <FormError error={reset.error} />
          <div className="actions start">
            <button type="submit" className="button primary" disabled={reset.isPending || token === ""}>
              Set password
            </button>
          </div>
          {token === "" && <OpenAgain />}
          {reset.isError && (
            <p className="small muted">
              {"A link works once, within an hour. "}
              <Link to="/forgot-password">Ask for another</Link>.
            </p>
          )}
        </form>
      )}
    </Outside>
  );
}

/** Passkeys that remain valid after a reset, with an offer to remove them. */
function ResetPasskeys({ passkeys }: { readonly passkeys: readonly Passkey[] }) {
  return (
    <>
      <p>These passkeys sign in without the password. Remove them if you do not recognize one.</p>
      <ul className="small">
        {passkeys.map(({ passkey_id, name, created_at }) => (
          <li key={passkey_id}>
            <Data text={name} />
            {", added "}
            <Time at={created_at} />
          </li>
        ))}
      </ul>
      <label className="check">
        <input type="checkbox" name="remove_passkeys" />
        Remove all of them
      </label>
    </>
  );
}

export function InvitationPage() {
  const { client, refresh } = useSession();
  const token = useToken();
  const navigate = useNavigate();
  const accept = useMutation({
    mutationFn: (password: string) => client.acceptInvitation({ token, ...(password === "" ? {} : { password }) }),
    onSuccess: async () => {
      await refresh();
      await navigate({ to: "/" });
    },
  });
  return (
    <Outside
      title="Join the organization"
      about="Choose a password, or leave it empty if your organization has its own sign-in page. Your e-mail address is the invited one."
    >
      <form className="card stack" onSubmit={(event) => accept.mutate(formOf(event)("password"))}>
        <NewPassword optional />
        <FormError error={accept.error} />
        <div className="actions start">
          <button type="submit" className="button primary" disabled={accept.isPending || token === ""}>
            Join
          </button>
        </div>
        {token === "" && <OpenAgain />}
        {accept.error instanceof ApiError && accept.error.code === "not_found" && (
          <p className="small muted">A link works once, within a week. Ask the person who invited you for another.</p>
        )}
      </form>
    </Outside>
  );
}

/** Target of the mails' own link, and of the link in their header for mail programs that do not call the API. */
export function UnsubscribePage() {
  const { client } = useSession();
  const token = useToken();
  const stop = useMutation({ mutationFn: () => client.unsubscribe(token) });
  return (
    <Outside title="Notification mails">
      <section className="card stack">
        {stop.isSuccess ? (
          <p role="status">
            You get no more mails about waiting actions. You can switch them on again in the settings.
          </p>
        ) : (
          <>
            <p>Stop mails about actions that wait for your review?</p>
            <FormError error={stop.error} />
            {stop.isError && (
              <p className="small muted">
                {"If you are signed in, you can stop them in the "}
                <Link to="/settings">settings</Link>.
              </p>
            )}
            {token === "" && <OpenAgain />}
            <div className="actions">
              <button
                type="button"
                className="button primary"
                disabled={stop.isPending || token === ""}
                onClick={() => stop.mutate()}
              >
                Stop these mails
              </button>
            </div>
          </>
        )}
      </section>
    </Outside>
  );
}
