import type { Intake, Quickstart } from "@countersign/contract";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { connect } from "../../api/connection.ts";
import { useSession } from "../../api/session.tsx";
import { CopyButton, Secret } from "../../parts/forms/copy.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Failed } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { FirstReview } from "./first-review.tsx";
import { SuggestedPacks } from "./suggested-packs.tsx";

export type NewOrganization = Quickstart & Pick<Intake, "recommended_packs">;

/** The new organization: its key, the rules for it, and a first review. Each step is a button. */
export function Created({ made }: { readonly made: NewOrganization }) {
  const admin = useMemo(() => connect(made.api_key, null, () => undefined), [made.api_key]);
  return (
    <>
      <PageHead title="Your organization is ready" about="Three steps to your first review." />
      <section className="card stack">
        <h2>1. Store the key</h2>
        <p className="small muted">It is shown only here. It has the role admin: do not give it to an agent.</p>
        <Secret text={made.api_key} label="Copy the key" />
        <p className="small muted">{`${made.key_id}, ends 365 days from now unless rotated`}</p>
      </section>
      <SuggestedPacks admin={admin} made={made} />
      <FirstReview admin={admin} made={made} />
      <Later made={made} />
    </>
  );
}

function Later({ made }: { readonly made: Quickstart }) {
  const { signIn } = useSession();
  const navigate = useNavigate();
  const enter = useMutation({
    mutationFn: async () => {
      await signIn(made.api_key);
      await navigate({ to: "/" });
    },
  });
  return (
    <section className="card stack">
      <h2>Later</h2>
      <details>
        <summary>Call the service from your agent</summary>
        <div className="stack">
          <div className="row between">
            <p className="small muted">Creates a key for the agent, and asks about an e-mail.</p>
            <CopyButton text={made.quickstart_snippet} label="Copy the snippet" />
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to get there */}
          <pre className="snippet" tabIndex={0}>
            {made.quickstart_snippet}
          </pre>
        </div>
      </details>
      <details>
        <summary>What to do before you go live</summary>
        <ol className="steps">
          {made.next_steps.map((step) => (
            <li key={step}>
              <Data text={step} />
            </li>
          ))}
        </ol>
      </details>
      {enter.error !== null && <Failed error={enter.error} />}
      <div className="actions start">
        <button type="button" className="button" disabled={enter.isPending} onClick={() => enter.mutate()}>
          Open the console
        </button>
      </div>
    </section>
  );
}
