import type { SubmitAnswer } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useMutation } from "@tanstack/react-query";
import { connect } from "../../api/connection.ts";
import { useSession } from "../../api/session.tsx";
import { ModeBadge, VerdictBadge } from "../../parts/records/badge.tsx";
import { Failed } from "../../parts/states.tsx";

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

/** Submits an intent as the caller of this tab, and shows the decision. */
export function TestIntent() {
  const { client, caller } = useSession();
  const is_admin_key = caller?.type === "key" && caller.role === "admin";
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
