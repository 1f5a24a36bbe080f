import type { PolicyDocument } from "@countersign/core";

const elsewhere = ["data.export", "communication.email", "system.deploy", "identity.grant"];

type Spec = PolicyDocument["spec"];

const rules: readonly Omit<Spec, "effect" | "match">[] = [
  {
    when: "params.amount_usd > facts.organizational.delegation_limit_usd",
    message: "Amount {{params.amount_usd}} exceeds the limit",
    risk: { add: 0.4, group: "amount" },
  },
  { require: `facts.entity_state.account_status in ["active", "open"]`, on_unknown: "block", risk: { add: 0.9 } },
  {
    require: "params.amount_usd > 0.0 && params.amount_usd <= facts.entity_state.account_balance_usd",
    on_unknown: "block",
    risk: { add: 0.75 },
  },
  {
    when: "has(facts.security.prompt_injection_detected) && facts.security.prompt_injection_detected == true",
    risk: { add: 0.95 },
  },
  {
    when: `action.type.startsWith("payment.") && params.currency != "USD" && params.amount_usd > 1000`,
    risk: { add: 0.3, group: "amount" },
  },
  {
    require: "facts.environmental.channel_encryption == true && tls(facts.environmental.tls_version) >= 1.2",
    risk: { add: 0.5 },
  },
  {
    variables: [{ name: "trusted", expr: `["acme", "globex", "initech"]` }],
    when: "!(params.beneficiary in vars.trusted) && params.amount_usd > 100",
    message: "{{params.beneficiary}} is not a known beneficiary",
    risk: { add: 0.35, group: "beneficiary" },
  },
  {
    when: `facts.identity.account_status == "suspended" || facts.identity.clearance_status == "uncleared"`,
    risk: { add: 0.8 },
  },
  { when: "impact.financial_exposure_usd > 10000 && !impact.reversible", risk: { add: 0.6, group: "impact" } },
  {
    when: `data_classes.exists(c, c in ["phi", "chd", "sad"]) && !has(facts.regulatory.hipaa_access_purpose)`,
    risk: { add: 0.7 },
  },
];

/** Ten match a payment.transfer; two of these fire. */
export function benchPolicies(count: number): PolicyDocument[] {
  return Array.from({ length: count }, (_, index): PolicyDocument => {
    const matching =
      index % Math.max(1, Math.floor(count / 10)) === 0 && index / Math.max(1, Math.floor(count / 10)) < 10;
    const rule = rules[(matching ? Math.floor(index / Math.max(1, Math.floor(count / 10))) : index) % rules.length];
    const action = matching
      ? index % 2 === 0
        ? "payment.transfer"
        : "payment.*"
      : `${elsewhere[index % elsewhere.length]}.${index}`;
    return {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: `policy-${String(index).padStart(5, "0")}`, citations: ["internal 1.2"] },
      spec: { ...rule, effect: index % 3 === 0 ? "block" : "escalate", match: { actions: [action] } } as Spec,
    };
  });
}
