import type { Subject } from "./policies.ts";

/** Seeded generator (mulberry32): the documents are the same on every machine. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

type Choices = Readonly<Record<string, readonly unknown[]>>;

const ACTIONS = [
  "payment.transfer",
  "payment.refund",
  "payment.charge",
  "data.read",
  "data.export",
  "data.share",
  "data.delete",
  "record.create",
  "record.update",
  "record.delete",
  "communication.call",
  "communication.sms",
  "communication.email",
  "finance.journal",
  "finance.report",
  "system.change",
  "system.deploy",
  "system.recover",
  "identity.grant",
  "model.decide",
  "model.train",
];
const CLASSES = [
  "personal",
  "special_category",
  "phi",
  "chd",
  "sad",
  "education_record",
  "cui",
  "federal",
  "classified",
  "financial_reporting",
];
const PARAMS: Choices = {
  amount_usd: [10, 250, 4999, 5000, 12000, 90000],
  country: ["US", "DE", "RU", "BR"],
  recipient_country: ["US", "DE", "CN"],
  record_count: [1, 40, 501, 9000],
  pre_authorization: [true, false],
  period: ["open", "closed"],
  high_risk: [true, false],
};
const FACTS: Readonly<Record<string, Choices>> = {
  environmental: {
    channel_encryption: [true, false],
    protocol: ["https", "sftp", "ftp", "http"],
    network_segment: ["cde", "internal", "public"],
    global_privacy_control: [true, false],
    communication_method: ["manual", "autodialer", "ai_voice"],
    recipient_local_hour: [6, 9, 14, 20, 22],
    recipient_state: ["CA", "FL", "TX", "WA"],
    ai_voice_detected: [true, false],
    ai_voice_disclosure: [true, false],
    boundary_crossing_approved: [true, false],
    encryption_standard: ["fips_140_3", "fips_140_2", "aes"],
  },
  entity_state: { account_balance_usd: [0, 400, 5000, 1000000], account_status: ["active", "frozen", "closed"] },
  regulatory: {
    hipaa_access_purpose: ["treatment", "research", "payment"],
    patient_authorization: [true, false],
    cardholder_data_environment: [true, false],
    consumer_age: [12, 15, 16, 40],
    ccpa_minor_opt_in: [{ granted: true }],
    gpc_override_consent: [{ granted: true }],
    ccpa_opt_out: [{ sale: true }, { sale: false }, {}],
    ferpa_consent: [{ signed: true }],
    ferpa_disclosure_purpose: ["school_official", "marketing"],
    ferpa_record_type: ["grades", "directory_information"],
    ferpa_directory_opt_out: [true, false],
    sox_scope: [{ in_scope: true }, { in_scope: false }],
    dnc_registry_status: ["listed", "not_listed"],
    established_business_relationship: [{ since: "2025-01-01" }],
    internal_dnc_listed: [true, false],
    tcpa_consent: [{ written: true }, { written: false }, {}],
    revocation_business_days_elapsed: [1, 10, 14],
  },
  organizational: {
    delegation_limit_usd: [1000, 10000, 50000],
    gdpr_legal_basis: ["consent", "contract", "because"],
    bulk_access_justification: ["quarterly audit"],
    certificate_expiry_days: [1, 30, 300],
    ssl_certificate_valid: [true, false],
    pci_network_segmentation: ["compliant", "non_compliant"],
    sox_audit_trail: [{ enabled: true }, { enabled: false }],
    ato_status: ["authorized", "in_process"],
    change_management_ticket: ["CHG-1042"],
    training_data_lineage: ["lineage-7"],
    explainability_enabled: [true, false],
    monitoring_enabled: [true, false],
    telemetry_endpoint: ["otel:4317"],
  },
  identity: {
    delegation_limit_usd: [500, 20000],
    last_account_review_days: [10, 100, 200],
    account_status: ["active", "suspended"],
    assigned_permissions: [["read"], ["read", "deploy"]],
    authenticated_agent_id: ["agent-1", "agent-2"],
    clearance_verified: [true, false],
    clearance_status: ["cleared", "uncleared"],
  },
  security: {
    active_security_incident: [true, false],
    prompt_injection_detected: [true, false],
    anomaly_score: [3, 79, 80, 99],
    human_reviewed: [true, false],
    untrusted_content_in_context: [true, false],
  },
};

/** Each field exists with a probability of 70 %. */
export function documents(count: number): Subject[] {
  const random = generator(20261121);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const fill = (choices: Choices) =>
    Object.fromEntries(
      Object.entries(choices)
        .filter(() => random() < 0.7)
        .map(([key, list]) => [key, pick(list)]),
    );
  return Array.from({ length: count }, () => ({
    agent: { id: pick(["agent-1", "agent-2"]), team: pick(["operations", "sales"]) },
    action: { type: pick(ACTIONS) },
    params: fill(PARAMS) as Subject["params"],
    data_classes: CLASSES.filter(() => random() < 0.3),
    facts: Object.fromEntries(
      Object.entries(FACTS).map(([name, choices]) => [name, fill(choices)]),
    ) as Subject["facts"],
  }));
}
