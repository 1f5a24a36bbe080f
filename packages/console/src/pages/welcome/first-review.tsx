import type { Quickstart } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { connect } from "../../api/connection.ts";
import { useSession } from "../../api/session.tsx";
import { Failed } from "../../parts/states.tsx";

const agent_id = "my-first-agent";

/** A rule that many organizations begin with. It is theirs to change. */
const firstRule = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "ask-before-large-refunds", title: "Ask a person before refunds of more than 500 USD" },
  spec: {
    match: { actions: ["payment.refund"] },
    when: "params.amount_usd > 500.0",
    effect: "escalate",
    on_unknown: "escalate",
    message: "A person decides about refunds of more than 500 USD.",
  },
};

/** Facts that the systems of the organization would send of a usual customer. */
const facts = {
  entity_state: { account_status: "active", account_balance_usd: 2_000 },
  security: { prompt_injection_detected: false, active_security_incident: false },
};

const refund = {
  intent: {
    agent: { id: agent_id },
    action: {
      type: "payment.refund",
      verb: "refund",
      target: { type: "customer", identifier: "cus_3000" },
    },
    payload: { summary: "Refund of a returned lamp", content: { amount_usd: 740, order: "4711", reason: "returned" } },
  },
  context: { contract_version: "1", facts },
} as const;

/** An earlier try may have saved it, and failed later. */
async function activateFirstRule(admin: Client): Promise<void> {
  const { policies } = await admin.listPolicies();
  const saved = policies.find(({ name }) => name === firstRule.metadata.name);
  const { policy_id, active_version } = saved ?? (await admin.createPolicy({ policy: firstRule }));
  if (active_version === null) await admin.activatePolicy(policy_id, "live");
}

/** Asks in test mode, in which people decide although the membrane is in shadow. The agent's key ends after a day. */
async function askForRefund(admin: Client, membrane_id: string): Promise<string> {
  await activateFirstRule(admin);
  const bindings = { membrane_ids: [membrane_id], agent_ids: [agent_id] };
  const { api_key } = await admin.createApiKey({ ...firstKey, bindings });
  const { decision } = await connect(api_key, null, () => undefined).submitIntent(refund);
  return decision.escalation_id === null
    ? `/decisions/${decision.intent_id}`
    : `/escalations/${decision.escalation_id}`;
}

const firstKey = { name: "first review", role: "agent", environment: "test", expires_in_days: 1 } as const;

interface Props {
  readonly admin: Client;
  readonly made: Pick<Quickstart, "api_key" | "membrane_id">;
}

/** Makes an action that a person must decide, and opens its review. */
export function FirstReview({ admin, made: { api_key, membrane_id } }: Props) {
  const { signIn } = useSession();
  const navigate = useNavigate();
  const ask = useMutation({
    mutationFn: async () => {
      const to = await askForRefund(admin, membrane_id);
      await signIn(api_key);
      await navigate({ to });
    },
  });
  return (
    <section className="card stack">
      <h2>3. Decide your first review</h2>
      <p className="muted">
        A sample agent asks to refund $740.00. The rule <span className="mono">ask-before-large-refunds</span> makes it
        wait for you. Countersign only decides; nothing is paid.
      </p>
      {ask.error !== null && <Failed error={ask.error} />}
      <div className="actions start">
        <button type="button" className="button primary" disabled={ask.isPending} onClick={() => ask.mutate()}>
          {ask.isPending ? "Asking …" : "Let the agent ask"}
        </button>
      </div>
    </section>
  );
}
