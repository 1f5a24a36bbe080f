import { limits, type Quickstart, type SubmitAnswer } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useMemo } from "react";
import { connect } from "../api/connection.ts";
import { useSession } from "../api/session.tsx";
import { CopyButton, Secret } from "../parts/forms/copy.tsx";
import { EmailField, TextArea, TextField } from "../parts/forms/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ModeBadge, VerdictBadge } from "../parts/records/badge.tsx";
import { Failed } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ConnectionBanner, Mark } from "../shell/mark.tsx";

export function WelcomePage() {
  const { client } = useSession();
  const create = useMutation({
    mutationFn: (form: FormData) =>
      client.quickstart({
        org_name: String(form.get("org_name")),
        email: String(form.get("email")),
        description: String(form.get("description")),
      }),
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
              about="One step: an organization, a membrane in shadow mode, and an API key."
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

function Created({ made }: { readonly made: Quickstart }) {
  const { signIn } = useSession();
  const navigate = useNavigate();
  const enter = useMutation({
    mutationFn: async () => {
      await signIn(made.api_key);
      await navigate({ to: "/" });
    },
  });
  return (
    <>
      <PageHead title="Your organization is ready" about="The key below is shown only here. Store it now." />
      <section className="card stack">
        <h2>API key</h2>
        <Secret text={made.api_key} label="Copy the key" />
        <p className="small muted">{`${made.key_id} · role admin · ends 365 days from now unless rotated`}</p>
        <p className="small">Do not give this key to an agent: the snippet below creates a key for the agent.</p>
      </section>
      <section className="card stack">
        <div className="row between">
          <h2>A first call</h2>
          <CopyButton text={made.quickstart_snippet} label="Copy the snippet" />
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to get there */}
        <pre className="snippet" tabIndex={0}>
          {made.quickstart_snippet}
        </pre>
      </section>
      <TestIntent api_key={made.api_key} />
      <section className="card stack">
        <h2>Next</h2>
        <ol className="stack tight" style={{ paddingLeft: "1.2em" }}>
          {made.next_steps.map((step) => (
            <li key={step}>
              <Data text={step} />
            </li>
          ))}
        </ol>
        {enter.error !== null && <Failed error={enter.error} />}
        <div className="actions start">
          <button type="button" className="button primary" disabled={enter.isPending} onClick={() => enter.mutate()}>
            Open the console
          </button>
        </div>
      </section>
    </>
  );
}

const test_agent_id = "my-first-agent";

function submitTest(client: Client): Promise<SubmitAnswer> {
  return client.submitIntent({
    intent: {
      agent: { id: test_agent_id },
      action: {
        type: "communication.email",
        verb: "send_email",
        target: { type: "mailbox", identifier: "someone@example.com" },
      },
      payload: { summary: "Say hello", content: { subject: "Hello", body: "Sent by an agent, after asking." } },
    },
  });
}

/** Admin keys should not submit. Creates a bound key for a day and revokes it after the test. */
async function withAgentKey<T>(admin: Client, work: (agent: Client) => Promise<T>): Promise<T> {
  const bindings = { agent_ids: [test_agent_id], forbid_shadow: true };
  const key = await admin.createApiKey({ name: "test intent", role: "agent", expires_in_days: 1, bindings });
  try {
    return await work(connect(key.api_key, null, () => undefined));
  } finally {
    await admin.revokeApiKey(key.key_id);
  }
}

/**
 * Submits an intent and shows the decision. `api_key`: the new organization's admin key; null: the caller of this tab.
 */
export function TestIntent({ api_key }: { readonly api_key: string | null }) {
  const session = useSession();
  const client = useMemo(
    () => (api_key === null ? session.client : connect(api_key, null, () => undefined)),
    [api_key, session.client],
  );
  const { caller } = session;
  const is_admin_key = api_key !== null || (caller?.type === "key" && caller.role === "admin");
  const send = useMutation({
    mutationFn: () => (is_admin_key ? withAgentKey(client, submitTest) : submitTest(client)),
  });
  return (
    <section className="card stack">
      <h2>Send a test intent</h2>
      <p className="muted">An agent asks whether it may send an e-mail. Countersign only decides; nothing is sent.</p>
      <div className="row">
        <button type="button" className="button" disabled={send.isPending} onClick={() => send.mutate()}>
          {send.isPending ? "Deciding …" : "Send a test intent"}
        </button>
      </div>
      {send.error !== null && <Failed error={send.error} />}
      {send.data !== undefined && <Answer answer={send.data} />}
    </section>
  );
}

function Answer({ answer: { decision } }: { readonly answer: SubmitAnswer }) {
  return (
    <div className="stack tight" role="status">
      <div className="row">
        <VerdictBadge verdict={decision.verdict} />
        <ModeBadge mode={decision.pipeline_mode} />
        <span className="small muted">{`risk ${decision.risk_score.toFixed(2)}`}</span>
      </div>
      {decision.reasons.length === 0 && <p className="small">No rule matched.</p>}
      {decision.reasons.map((reason) => (
        <p key={reason.policy} className="small">
          <strong>{reason.policy}</strong> {reason.message}
        </p>
      ))}
      <p className="small mono">{decision.intent_id}</p>
    </div>
  );
}
