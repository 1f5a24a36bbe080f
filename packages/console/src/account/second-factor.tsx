import type { TotpEnrolment, User } from "@countersign/contract";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, lazy, Suspense, useState } from "react";
import { useClient } from "../api/session.tsx";
import { CopyButton } from "../parts/forms/copy.tsx";
import { Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { TextField } from "../parts/forms/field.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { asksForPassword, FormError, wrong_code } from "./outside.tsx";
import { useRefreshAccount } from "./refresh-account.ts";

const QrCode = lazy(async () => ({ default: (await import("./qr-code.tsx")).QrCode }));

type Asked = "confirm" | "disable" | "codes" | "password";

const titles: Record<Asked, string> = {
  confirm: "Set up the second factor",
  password: "Set up the second factor",
  disable: "Switch the second factor off",
  codes: "New recovery codes",
};
const dones: Record<Exclude<Asked, "password">, readonly [title: string, text?: string]> = {
  confirm: ["Second factor switched on"],
  disable: ["Second factor switched off"],
  codes: ["Recovery codes replaced", "Earlier codes no longer work."],
};

/** `onSetUp` is called after the reader has stored the recovery codes. */
export function SecondFactor({ user, onSetUp }: { readonly user: User; readonly onSetUp?: () => void }) {
  const factor = useSecondFactor();
  return (
    <section className="card stack" aria-label="Second factor">
      <h2>Second factor</h2>
      <p>
        {user.mfa_enabled
          ? "On: signing in asks for a code from your authenticator."
          : "Off. A password alone can be guessed or stolen; set up an authenticator app."}
      </p>
      <div className="row">
        {user.mfa_enabled ? (
          <>
            <button type="button" className="button" onClick={() => factor.ask("codes")}>
              New recovery codes
            </button>
            <button type="button" className="button bad" onClick={() => factor.ask("disable")}>
              Switch off
            </button>
          </>
        ) : (
          <button
            type="button"
            className="button primary"
            disabled={factor.begin.isPending}
            onClick={() => factor.begin.mutate(undefined)}
          >
            Set up
          </button>
        )}
      </div>
      {factor.asked === "password" && <PasswordDialog factor={factor} />}
      {factor.asked !== null && factor.asked !== "password" && <CodeDialog asked={factor.asked} factor={factor} />}
      {factor.codes !== null && (
        <RecoveryCodes
          codes={factor.codes}
          onClose={() => {
            factor.forgetCodes();
            onSetUp?.();
          }}
        />
      )}
    </section>
  );
}

function useSecondFactor() {
  const client = useClient();
  const refresh = useRefreshAccount();
  const toasts = useToasts();
  const [enrolment, setEnrolment] = useState<TotpEnrolment | null>(null);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const begin = useMutation({
    mutationFn: (password: string | undefined) => client.enrolTotp(password === undefined ? {} : { password }),
    onSuccess: (enrolment) => {
      setEnrolment(enrolment);
      ask("confirm");
    },
    onError: (error, password) => {
      if (asksForPassword(error)) setAsked("password");
      else if (password === undefined) toasts.failed(error);
    },
  });
  const act = useMutation({
    mutationFn: async (code: string) => {
      if (asked === "disable") await client.disableTotp(code);
      else if (asked === "codes") setCodes((await client.replaceRecoveryCodes(code)).recovery_codes);
      else setCodes((await client.confirmTotp(code)).recovery_codes);
    },
    onSuccess: () => {
      if (asked !== null && asked !== "password") toasts.done(...dones[asked]);
      setAsked(null);
      setEnrolment(null);
      refresh();
    },
  });
  const ask = (what: Asked) => {
    act.reset();
    setAsked(what);
  };
  return {
    enrolment,
    asked,
    codes,
    begin,
    act,
    ask,
    close: () => setAsked(null),
    forgetCodes: () => setCodes(null),
  };
}

function PasswordDialog({ factor: { begin, close } }: { readonly factor: ReturnType<typeof useSecondFactor> }) {
  return (
    <Dialog title={titles.password} onClose={close}>
      <form
        className="stack"
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          begin.mutate(String(new FormData(event.currentTarget).get("password")));
        }}
      >
        <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
        <FormError error={begin.error} wrong="Check the password." />
        <FormActions action="Go on" disabled={begin.isPending} onClose={close} />
      </form>
    </Dialog>
  );
}

function CodeDialog({
  asked,
  factor: { enrolment, act, close },
}: {
  readonly asked: Asked;
  readonly factor: ReturnType<typeof useSecondFactor>;
}) {
  return (
    <Dialog title={titles[asked]} onClose={close}>
      <form
        className="stack"
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          act.mutate(String(new FormData(event.currentTarget).get("code")).replaceAll(/\s/g, ""));
        }}
      >
        {asked === "confirm" && enrolment !== null && <NewAuthenticator enrolment={enrolment} />}
        <TextField label="Code of the authenticator" name="code" autoComplete="one-time-code" required minLength={6} />
        <FormError error={act.error} wrong={wrong_code} />
        <FormActions action="Confirm" disabled={act.isPending} onClose={close} />
      </form>
    </Dialog>
  );
}

function NewAuthenticator({ enrolment: { uri, secret } }: { readonly enrolment: TotpEnrolment }) {
  return (
    <>
      <p>Scan this with an authenticator app, or type the secret into it. It is shown only here.</p>
      <Suspense fallback={<p className="muted">Drawing …</p>}>
        <QrCode text={uri} />
      </Suspense>
      <div className="secret">
        <code>{secret}</code>
        <CopyButton text={secret} label="Copy the secret" />
      </div>
    </>
  );
}

function RecoveryCodes({ codes, onClose }: { readonly codes: readonly string[]; readonly onClose: () => void }) {
  return (
    <Dialog title="Recovery codes" onClose={null}>
      <p>Each code works once, in place of your authenticator. They are shown only here: store them safely.</p>
      <pre className="snippet">{codes.join("\n")}</pre>
      <div className="actions">
        <CopyButton text={codes.join("\n")} label="Copy the codes" />
        <button type="button" className="button primary" onClick={onClose}>
          I have stored them
        </button>
      </div>
    </Dialog>
  );
}
