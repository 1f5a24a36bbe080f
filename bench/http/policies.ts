/** Both targets are generated from these policies, so that neither gets easier rules. */

/** `when` is true if the action must not pass without a check. */
export interface BenchPolicy {
  readonly name: string;
  readonly action: string;
  readonly effect: "block" | "escalate";
  readonly when: string;
}

export const measured_action = "payment.transfer";

const matching: readonly BenchPolicy[] = [
  {
    name: "over-delegation",
    effect: "escalate",
    when: "params.amount_usd > facts.organizational.delegation_limit_usd",
  },
  { name: "over-balance", effect: "block", when: "params.amount_usd > facts.entity_state.account_balance_usd" },
  {
    name: "account-not-active",
    effect: "block",
    when: 'facts.entity_state.account_status in ["frozen", "closed", "seized"]',
  },
  {
    name: "embargoed-country",
    effect: "block",
    when: 'params.country in ["KP", "IR", "SY", "CU"] || params.country.startsWith("X")',
  },
  {
    name: "injection-seen",
    effect: "block",
    when: "facts.security.prompt_injection_detected && params.amount_usd > 0.0",
  },
  {
    name: "incident-open",
    effect: "block",
    when: "facts.security.active_security_incident && !facts.identity.recovery_authorization",
  },
  {
    name: "not-permitted",
    effect: "block",
    when: '!facts.identity.assigned_permissions.exists(p, p == "payments.write")',
  },
  {
    name: "review-overdue",
    effect: "escalate",
    when: "facts.identity.last_account_review_days > 90.0 && params.amount_usd > 1000.0",
  },
  {
    name: "memo-suspicious",
    effect: "escalate",
    when: 'params.memo.matches("(?:gift ?card|wire.*urgent)") || params.memo.size() > 140',
  },
  {
    name: "restricted-target",
    effect: "block",
    when: 'params.tier == "restricted" && facts.identity.clearance_status != "cleared"',
  },
].map((policy) => ({ ...policy, action: measured_action, effect: policy.effect as BenchPolicy["effect"] }));

const otherActions = ["communication.email", "data.export", "record.update", "identity.grant"];

export const benchPolicies: readonly BenchPolicy[] = [
  ...matching,
  ...Array.from({ length: 40 }, (_, n): BenchPolicy => {
    const like = matching[n % matching.length];
    if (like === undefined) throw new Error("the table of matching policies is empty");
    return {
      ...like,
      name: `${like.name}-${n}`,
      action: otherActions[n % otherActions.length] ?? "other.unclassified",
    };
  }),
];

/** `payments` has the parts that differ. */
export const benchFacts = {
  entity_state: { account_balance_usd: 50_000, account_status: "active" },
  organizational: { delegation_limit_usd: 5_000 },
  identity: {
    assigned_permissions: ["payments.read", "payments.write"],
    last_account_review_days: 12,
    recovery_authorization: false,
    clearance_status: "cleared",
  },
  security: { prompt_injection_detected: false, active_security_incident: false },
} as const;

export interface BenchPayment {
  readonly params: {
    readonly amount_usd: number;
    readonly country: string;
    readonly memo: string;
    readonly tier: string;
  };
  readonly verdict: "approve" | "block";
}

/** 58 payments pass, six are blocked. None is escalated, because the review queue would soon be full. */
export const payments: readonly BenchPayment[] = Array.from({ length: 64 }, (_, n) => {
  const amount_usd = 20.5 + n * 7;
  const params = { amount_usd, country: "DE", memo: `Invoice ${1000 + n}`, tier: "internal" };
  if (n % 16 === 7) return { params: { ...params, country: "KP" }, verdict: "block" };
  if (n % 32 === 21) return { params: { ...params, amount_usd: 75_000.25 + n }, verdict: "block" };
  return { params, verdict: "approve" };
});
