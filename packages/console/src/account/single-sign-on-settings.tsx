import { domain_record_label, domain_record_prefix, type SingleSignOn } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../api/session.tsx";
import { CopyButton } from "../parts/forms/copy.tsx";
import { Confirm } from "../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../parts/forms/field.tsx";
import { useEverybody } from "../parts/records/who.tsx";
import { Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { FormError } from "./outside.tsx";

const defaultRoles = ["reviewer", "operator", "auditor", "agent"] as const;

export function SingleSignOnSettings() {
  const [asked, setAsked] = useState(false);
  const { query, save, remove } = useConfiguration(() => setAsked(false));
  const own_domain = useOwnDomain();
  return (
    <section className="card stack" aria-label="Single sign-on">
      <h2>Single sign-on</h2>
      <p className="muted">People of your domains sign in through your own OpenID provider.</p>
      <Loaded query={query} what="the configuration">
        {(known) => (
          <>
            <Addresses known={known} />
            {own_domain !== null && (
              <SettingsForm
                key={known?.updated_at ?? "none"}
                {...{ known, own_domain, save }}
                onRemove={() => setAsked(true)}
              />
            )}
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
          <p>Sessions stay valid. People without a password set one by mail.</p>
        </Confirm>
      )}
    </section>
  );
}

function useConfiguration(onRemoved: () => void) {
  const { client } = useSession();
  const queries = useQueryClient();
  const toasts = useToasts();
  const refresh = () => void queries.invalidateQueries({ queryKey: ["single-sign-on"] });
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
  const save = useMutation({
    mutationFn: (form: FormData) => client.putSingleSignOn(inputOf(form)),
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
      onRemoved();
      refresh();
    },
  });
  return { query, save, remove };
}

function inputOf(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  return {
    issuer: text("issuer"),
    client_id: text("client_id"),
    ...(text("client_secret") === "" ? {} : { client_secret: text("client_secret") }),
    email_domains: text("email_domains")
      .split(/[\s,]+/)
      .filter((domain) => domain !== ""),
    default_role: text("default_role") as (typeof defaultRoles)[number],
  };
}

/** The provider's redirect address, as the service reports it after saving. */
const redirectAddress = (org_id: string) => `${location.origin}/sso/callback/${org_id}`;

function Addresses({ known }: { readonly known: SingleSignOn | null }) {
  const { caller } = useSession();
  return (
    <>
      <dl className="pairs">
        <dt>Redirect address</dt>
        <dd>
          <Address text={known?.redirect_uri ?? redirectAddress(caller?.org_id ?? "")} />
        </dd>
        <dt>DNS record (TXT) of each domain</dt>
        <dd>
          <Address text={`${domain_record_label}.<domain>`} />
          <br />
          <Address text={`${domain_record_prefix}${caller?.org_id ?? ""}`} />
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
      <p className="muted small">
        The record proves that a domain is yours. It is checked every day: without it, single sign-on for the domain
        ends.
      </p>
      {known === null && (
        <p className="muted small">
          Your provider needs this address before it gives you a client id. It begins with the address of this page, so
          open the console at its public address.
        </p>
      )}
    </>
  );
}

function Address({ text }: { readonly text: string }) {
  return (
    <>
      <Data text={text} /> <CopyButton text={text} />
    </>
  );
}

/** Returns the domain of the caller's own address. Empty for a key; null: not known yet. */
function useOwnDomain(): string | null {
  const { caller } = useSession();
  const { data, isPending } = useEverybody(caller?.type === "user");
  if (caller?.type === "user" && isPending) return null;
  const address = data?.get(caller?.id ?? "")?.email;
  return address?.split("@").at(-1) ?? "";
}

function SettingsForm({
  known,
  own_domain,
  save,
  onRemove,
}: {
  readonly known: SingleSignOn | null;
  readonly own_domain: string;
  readonly save: ReturnType<typeof useConfiguration>["save"];
  readonly onRemove: () => void;
}) {
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(new FormData(event.currentTarget));
      }}
    >
      <TextField
        label="Issuer"
        name="issuer"
        type="url"
        required
        list="sso-issuers"
        hint="The address of your provider. Google and many others publish it as “issuer”"
        defaultValue={known?.issuer ?? ""}
      />
      <datalist id="sso-issuers">
        <option value="https://accounts.google.com">Google Workspace</option>
      </datalist>
      <div className="grid-2">
        <TextField label="Client id" name="client_id" required defaultValue={known?.client_id ?? ""} />
        <TextField
          label="Client secret"
          name="client_secret"
          type="password"
          autoComplete="off"
          required={known === null}
          hint={known === null ? "" : "Empty: unchanged"}
        />
        <TextField
          label="E-mail domains"
          name="email_domains"
          required
          hint="Separated by commas"
          defaultValue={known?.email_domains.join(", ") ?? own_domain}
        />
        <SelectField
          label="Role of new people"
          name="default_role"
          defaultValue={known?.default_role ?? "reviewer"}
          options={defaultRoles.map((role) => [role, role] as const)}
        />
      </div>
      <FormError error={save.error} />
      <div className="actions start">
        <button type="submit" className="button" disabled={save.isPending}>
          Save
        </button>
        {known !== null && (
          <button type="button" className="button bad" onClick={onRemove}>
            Switch off
          </button>
        )}
      </div>
    </form>
  );
}
