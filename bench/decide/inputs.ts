import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  checkPolicy,
  compilePolicySet,
  type DecidableIntent,
  type DecideInput,
  mergeFacts,
  type PolicyDocument,
  type PolicySet,
  plainMembrane,
} from "@countersign/core";

const now_us = 1_795_024_800_000_000;

const intents_count = 64;

export function setOf(documents: readonly PolicyDocument[]): PolicySet {
  const policies = documents.map((document, index) => ({
    policy_id: `pol_${index}`,
    version: 1,
    document,
    mode: "live" as const,
    pack: document.metadata.name.split(".")[0] ?? null,
  }));
  return compilePolicySet({ policies, version: 1 });
}

export function packDocuments(): PolicyDocument[] {
  const packs = join(import.meta.dirname, "../../packs");
  return readdirSync(packs, { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .flatMap(({ name: pack }) =>
      readdirSync(join(packs, pack, "policies")).map((file) => {
        const { document, diagnostics } = checkPolicy(readFileSync(join(packs, pack, "policies", file), "utf8"));
        if (document === null) throw new Error(`${file}: ${JSON.stringify(diagnostics)}`);
        return document;
      }),
    );
}

/** 25 % of the payments are over the limit. `age_s` is the age of the facts. */
export function paymentInputs(policySet: PolicySet, age_s = 1): DecideInput[] {
  return Array.from({ length: intents_count }, (_, index) => ({
    intent: paymentOf(index),
    facts: mergeFacts([
      { source: "inline", received_us: now_us - age_s * 1_000_000, document: { facts: factsOf(index) } },
    ]),
    policySet,
    membrane: plainMembrane,
    mode: "live",
    now_us,
  }));
}

function paymentOf(index: number): DecidableIntent {
  return {
    agent: { id: `agent-${index % 8}`, framework: "bench" },
    action: {
      type: "payment.transfer",
      verb: "send_money",
      target: { type: "account", identifier: `acct-${index}` },
    },
    payload: {
      content: { amount_usd: 150 + index, currency: "USD", beneficiary: index % 2 === 0 ? "acme" : `shop-${index}` },
    },
    estimated_impact: { reversible: false, financial_exposure_usd: 150 + index },
    data_classes: ["financial_reporting"],
  };
}

function factsOf(index: number) {
  return {
    environmental: { channel_encryption: true, tls_version: "1.3", network_segment: "internal" },
    entity_state: { account_status: "active", account_balance_usd: 10_000 },
    organizational: { delegation_limit_usd: index % 4 === 0 ? 100 : 5_000 },
    identity: { account_status: "active", clearance_status: "cleared" },
    security: { prompt_injection_detected: false, active_security_incident: false },
  };
}
