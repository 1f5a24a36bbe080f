import { useMutation } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { useSession } from "../api/session.tsx";
import { keepAddress } from "../browser/storage.ts";
import { EmailField } from "../parts/forms/field.tsx";
import { FormError } from "./outside.tsx";

/** Refuses addresses that are not http or https. */
function leaveFor(address: string): void {
  if (!/^https?:$/.test(new URL(address).protocol)) throw new Error("The provider has no web address.");
  keepAddress();
  location.assign(address);
}

/** Starts a sign-in for the organization in the address, or for the one that has the e-mail domain. */
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
