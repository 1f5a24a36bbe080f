import { limits } from "@countersign/contract";
import { useMutation } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { useSession } from "../api/session.tsx";
import { EmailField, TextArea, TextField } from "../parts/forms/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Failed } from "../parts/states.tsx";
import { ConnectionBanner, Mark } from "../shell/mark.tsx";
import { Created } from "./welcome/created.tsx";

export function WelcomePage() {
  const { client } = useSession();
  const create = useMutation({
    mutationFn: async (form: FormData) => {
      const description = String(form.get("description"));
      const { intake_id, recommended_packs } = await client.intake({ description });
      const [org_name, email] = [String(form.get("org_name")), String(form.get("email"))];
      const made = await client.quickstart({ org_name, email, description, intake_id });
      return { ...made, recommended_packs };
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    create.mutate(new FormData(event.currentTarget));
  };
  return (
    <div className="alone">
      <main className="broad stack">
        <ConnectionBanner />
        <div className="brand">
          <Mark /> Countersign
        </div>
        {create.data !== undefined ? (
          <Created made={create.data} />
        ) : (
          <>
            <PageHead
              title="Create your organization"
              about="You get an organization, an API key, and rules that only record until you let them stop actions."
            />
            <form className="card stack" onSubmit={submit}>
              <TextField
                label="Organization"
                name="org_name"
                required
                maxLength={limits.name_chars_max}
                autoComplete="organization"
              />
              <EmailField label="Your e-mail" autoComplete="email" />
              <TextArea
                label="What do your agents do?"
                hint="In plain words, such as: sends refunds and e-mails to customers in Europe. The service suggests rule packs from it."
                name="description"
                required
                maxLength={limits.onboarding_text_chars_max}
              />
              {create.error !== null && <Failed error={create.error} />}
              <div className="actions start">
                <button type="submit" className="button primary" disabled={create.isPending}>
                  {create.isPending ? "Creating …" : "Create organization"}
                </button>
              </div>
            </form>
          </>
        )}
      </main>
    </div>
  );
}
