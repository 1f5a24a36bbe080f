/** Single sign-on: the way in through the organization's own OpenID provider, and how an admin sets it up. */
import { ApiError } from "@countersign/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useSession } from "../api/session.tsx";
import { keepAddress } from "../browser/storage.ts";
import { CopyButton } from "../parts/forms/copy.tsx";
import { Confirm } from "../parts/forms/dialog.tsx";
import { EmailField, SelectField, TextField } from "../parts/forms/field.tsx";
import { Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { FormError } from "./outside.tsx";

/** What somebody may become who comes for the first time. */
const default_roles = ["reviewer", "operator", "auditor", "agent"] as const;

/** Goes to the provider. Nothing but a web address is gone to. */
function leaveFor(address: string): void {
  if (!/^https?:$/.test(new URL(address).protocol)) throw new Error("The provider has no web address.");
  keepAddress();
  location.assign(address);
}

/** Begins a login at the provider: of the organization in the address, or of the one whose domain an e-mail has. */
export function SingleSignOnForm({ org_id }: { readonly org_id: string | undefined }) {
  const { client } = useSession();
  const begin = useMutation({
    mutationFn: async (email: string | null) =>
      leaveFor(
        (await client.beginSingleSignOn(email === null ? { org_id: org_id ?? "" } : { email: email.trim() })).location,
      ),
  });
  if (org_id !== undefined)
    return (
      <>
        <button type="button" className="button primary" disabled={begin.isPending} onClick={() => begin.mutate(null)}>
          Sign in with your organization
        </button>
        <FormError error={begin.error} />
      </>
    );
  return (
    <form
      className="stack"
      onSubmit={(event: FormEvent<HTMLFormElement>) => {
        event.preventDefault();
        begin.mutate(String(new FormData(event.currentTarget).get("work_email")));
      }}
    >
      <EmailField label="Work e-mail" name="work_email" autoComplete="email" />
      <FormError error={begin.error} />
      <div className="actions start">
        <button type="submit" className="button" disabled={begin.isPending}>
          Go to your organization
        </button>
      </div>
    </form>
  );
}

/** Where a provider sends people back to, as the service will name it once single sign-on is saved. */
const redirectAddress = (org_id: string) => `${location.origin}/sso/callback/${org_id}`;

function Address({ text }: { readonly text: string }) {
  return (
    <>
      <Data text={text} /> <CopyButton text={text} />
    </>
  );
}

/** The configuration, for admins. */
export function SingleSignOnSettings() {
  const { client, caller } = useSession();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [asked, setAsked] = useState(false);
  const query = useQuery({
    queryKey: ["single-sign-on"],
    queryFn: async () => {
      try {
        return await client.getSingleSignOn();
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });
  const refresh = () => void queries.invalidateQueries({ queryKey: ["single-sign-on"] });
  const save = useMutation({
    mutationFn: (form: FormData) => {
      const text = (name: string) => String(form.get(name) ?? "").trim();
      return client.putSingleSignOn({
        issuer: text("issuer"),
        client_id: text("client_id"),
        ...(text("client_secret") === "" ? {} : { client_secret: text("client_secret") }),
        email_domains: text("email_domains")
          .split(/[\s,]+/)
          .filter((domain) => domain !== ""),
        default_role: text("default_role") as (typeof default_roles)[number],
      });
    },
    onSuccess: () => {
      toasts.done("Single sign-on saved");
      refresh();
    },
  });
  const remove = useMutation({
    mutationFn: () => client.deleteSingleSignOn(),
    onSuccess: () => toasts.done("Single sign-on is off"),
    onError: toasts.failed,
    onSettled: () => {
      setAsked(false);
      refresh();
    },
  });
  return (
    <section className="card stack" aria-label="Single sign-on">
      <h2>Single sign-on</h2>
      <p className="muted">People of your domains sign in through your own OpenID provider.</p>
      <Loaded query={query} what="the configuration">
        {(known) => (
          <>
            <dl className="pairs">
              <dt>Redirect address</dt>
              <dd>
                <Address text={known?.redirect_uri ?? redirectAddress(caller?.org_id ?? "")} />
              </dd>
              {known !== null && (
                <>
                  <dt>Sign-in page</dt>
                  <dd>
                    <Address text={known.login_url} />
                  </dd>
                </>
              )}
            </dl>
            {known === null && (
              <p className="muted small">
                The provider asks for it before it gives a client id. It begins as the address of this page does: open
                the console at its public address.
              </p>
            )}
            <form
              key={known?.updated_at ?? "none"}
              className="stack"
              onSubmit={(event: FormEvent<HTMLFormElement>) => {
                event.preventDefault();
                save.mutate(new FormData(event.currentTarget));
              }}
            >
              <TextField label="Issuer" name="issuer" type="url" required defaultValue={known?.issuer ?? ""} />
              <div className="grid-2">
                <TextField label="Client id" name="client_id" required defaultValue={known?.client_id ?? ""} />
                <TextField
                  label="Client secret"
                  name="client_secret"
                  type="password"
                  autoComplete="off"
                  required={known === null}
                  hint={known === null ? "" : "Empty: as it is"}
                />
                <TextField
                  label="E-mail domains"
                  name="email_domains"
                  required
                  hint="Separated by commas"
                  defaultValue={known?.email_domains.join(", ") ?? ""}
                />
                <SelectField
                  label="Role of new people"
                  name="default_role"
                  defaultValue={known?.default_role ?? "reviewer"}
                  options={default_roles.map((role) => [role, role] as const)}
                />
              </div>
              <FormError error={save.error} />
              <div className="actions start">
                <button type="submit" className="button primary" disabled={save.isPending}>
                  Save
                </button>
                {known !== null && (
                  <button type="button" className="button bad" onClick={() => setAsked(true)}>
                    Switch off
                  </button>
                )}
              </div>
            </form>
          </>
        )}
      </Loaded>
      {asked && (
        <Confirm
          title="Switch single sign-on off?"
          action="Switch off"
          tone="bad"
          busy={remove.isPending}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsked(false)}
        >
          <p>Sessions go on. People without a password set one by mail.</p>
        </Confirm>
      )}
    </section>
  );
}
