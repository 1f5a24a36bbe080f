/** A person's own safety: second factor, sessions, password, mails. */
import { limits, roleMeets, type Session, type TotpEnrolment, type User } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, lazy, Suspense, useState } from "react";
import { useClient, useSession } from "../api/session.tsx";
import { hasDrafts } from "../browser/storage.ts";
import { CopyButton } from "../parts/forms/copy.tsx";
import { Confirm, Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { TextField } from "../parts/forms/field.tsx";
import { Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { FormError, wrong_code } from "./outside.tsx";
import { Passkeys } from "./passkeys.tsx";

const QrCode = lazy(async () => ({ default: (await import("./qr-code.tsx")).QrCode }));

/** What a person, signed in with a session, can do for its own account. */
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
      <SecondFactor user={user} />
      <Passkeys />
      <Sessions />
      <div className="grid-2">
        <Password email={user.email} />
        {roleMeets(user.role, ["reviewer"]) && <Mails user={user} />}
      </div>
    </>
  );
}

function useRefresh(): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ["session"] });
}

type Asked = "confirm" | "disable" | "codes";

const dones: Record<Asked, readonly [title: string, text?: string]> = {
  confirm: ["Second factor switched on"],
  disable: ["Second factor switched off"],
  codes: ["Recovery codes replaced", "Those from before serve no more."],
};

function SecondFactor({ user }: { readonly user: User }) {
  const client = useClient();
  const refresh = useRefresh();
  const toasts = useToasts();
  const [enrolment, setEnrolment] = useState<TotpEnrolment | null>(null);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const begin = useMutation({
    mutationFn: () => client.enrolTotp(),
    onSuccess: (enrolment) => {
      setEnrolment(enrolment);
      ask("confirm");
    },
    onError: toasts.failed,
  });
  const act = useMutation({
    mutationFn: async (code: string) => {
      if (asked === "disable") await client.disableTotp(code);
      else if (asked === "codes") setCodes((await client.replaceRecoveryCodes(code)).recovery_codes);
      else setCodes((await client.confirmTotp(code)).recovery_codes);
    },
    onSuccess: () => {
      if (asked !== null) toasts.done(...dones[asked]);
      setAsked(null);
      setEnrolment(null);
      refresh();
    },
  });
  const ask = (what: Asked) => {
    act.reset();
    setAsked(what);
  };
  const titles: Record<Asked, string> = {
    confirm: "Set up the second factor",
    disable: "Switch the second factor off",
    codes: "New recovery codes",
  };
  return (
    <section className="card stack" aria-label="Second factor">
      <h2>Second factor</h2>
      <p>
        {user.mfa_enabled
          ? "On: signing in asks for a code of your authenticator."
          : "Off. A password alone can be guessed or stolen; set up an authenticator app."}
      </p>
      <div className="row">
        {user.mfa_enabled ? (
          <>
            <button type="button" className="button" onClick={() => ask("codes")}>
              New recovery codes
            </button>
            <button type="button" className="button bad" onClick={() => ask("disable")}>
              Switch off
            </button>
          </>
        ) : (
          <button type="button" className="button primary" disabled={begin.isPending} onClick={() => begin.mutate()}>
            Set up
          </button>
        )}
      </div>
      {asked !== null && (
        <Dialog title={titles[asked]} onClose={() => setAsked(null)}>
          <form
            className="stack"
            onSubmit={(event: FormEvent<HTMLFormElement>) => {
              event.preventDefault();
              act.mutate(String(new FormData(event.currentTarget).get("code")).replaceAll(/\s/g, ""));
            }}
          >
            {asked === "confirm" && enrolment !== null && (
              <>
                <p>Scan this with an authenticator app, or type the secret into it. It is shown only here.</p>
                <Suspense fallback={<p className="muted">Drawing …</p>}>
                  <QrCode text={enrolment.uri} />
                </Suspense>
                <div className="secret">
                  <code>{enrolment.secret}</code>
                  <CopyButton text={enrolment.secret} label="Copy the secret" />
                </div>
              </>
            )}
            <TextField
              label="Code of the authenticator"
              name="code"
              autoComplete="one-time-code"
              required
              minLength={6}
            />
            <FormError error={act.error} wrong={wrong_code} />
            <FormActions action="Confirm" disabled={act.isPending} onClose={() => setAsked(null)} />
          </form>
        </Dialog>
      )}
      {codes !== null && (
        <Dialog title="Recovery codes" onClose={null}>
          <p>Each signs in once when the authenticator is not at hand. They are shown only here: store them safely.</p>
          <pre className="snippet">{codes.join("\n")}</pre>
          <div className="actions">
            <CopyButton text={codes.join("\n")} label="Copy the codes" />
            <button type="button" className="button primary" onClick={() => setCodes(null)}>
              I have stored them
            </button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function Sessions() {
  const client = useClient();
  const { signOut } = useSession();
  const queries = useQueryClient();
  const toasts = useToasts();
  const list = usePaged(["session", "all"], async (cursor) => {
    const page = await client.listSessions(cursor === undefined ? {} : { cursor });
    return { rows: page.sessions, next_cursor: page.next_cursor };
  });
  const end = useMutation({
    mutationFn: (session_id: string) => client.endSession(session_id),
    onSuccess: () => toasts.done("Session ended"),
    onError: toasts.failed,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["session", "all"] }),
  });
  const [asked, setAsked] = useState(false);
  const endAll = useMutation({
    mutationFn: () => signOut("all"),
    onError: toasts.failed,
    onSettled: () => setAsked(false),
  });
  return (
    <section className="card stack" aria-label="Sessions">
      <div className="row between">
        <h2>Where you are signed in</h2>
        <button type="button" className="button small bad" onClick={() => setAsked(true)}>
          Sign out everywhere
        </button>
      </div>
      <Paged list={list} what="sessions" empty={null}>
        {(sessions) => (
          <ul className="plain stack tight">
            {sessions.map((session) => (
              <li key={session.session_id} className="row between">
                <span className="small">
                  <Data text={session.user_agent ?? "unknown browser"} chars_max={90} />
                  <span className="muted">
                    {session.current ? " · this one" : ""}
                    {session.client_ip !== null && ` · ${session.client_ip}`}
                    {" · seen "}
                    <Time at={session.last_seen_at} />
                  </span>
                </span>
                {!session.current && (
                  <button
                    type="button"
                    className="button small"
                    disabled={end.isPending}
                    onClick={() => end.mutate(session.session_id)}
                  >
                    End
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Paged>
      {asked && (
        <Confirm
          title="Sign out everywhere?"
          action="Sign out everywhere"
          tone="bad"
          busy={endAll.isPending}
          onConfirm={() => endAll.mutate()}
          onClose={() => setAsked(false)}
        >
          <p>All your sessions end at once, this one too. API keys stay valid.</p>
          {hasDrafts() && <p>What you wrote in this tab and did not save is dropped.</p>}
        </Confirm>
      )}
    </section>
  );
}

function Password({ email }: { readonly email: string }) {
  const client = useClient();
  const refresh = useRefresh();
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
        {/* Tells a password manager whose password it is. */}
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

function Mails({ user }: { readonly user: User }) {
  const client = useClient();
  const refresh = useRefresh();
  const toasts = useToasts();
  const change = useMutation({
    mutationFn: (notify: boolean) => client.changeProfile({ notify }),
    onSuccess: () => toasts.done("Saved"),
    onError: toasts.failed,
    onSettled: refresh,
  });
  return (
    <section className="card stack" aria-label="Mails">
      <h2>Mails</h2>
      <p className="muted small">
        <Data text={user.email} />
      </p>
      <label className="check">
        <input
          type="checkbox"
          checked={user.notify}
          disabled={change.isPending}
          onChange={(event) => change.mutate(event.target.checked)}
        />
        Tell me about actions that wait for my review
      </label>
    </section>
  );
}
