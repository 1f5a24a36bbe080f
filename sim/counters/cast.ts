import type { Membrane } from "@countersign/contract";
import { policySha256 } from "@countersign/core";
import { membraneDefaults } from "../../packages/server/src/operations/membranes/membranes.ts";
import { createOrganization } from "../../packages/server/src/operations/organizations/create-organization.ts";
import { acceptedDocument } from "../../packages/server/src/operations/policies/policy-documents.ts";
import type { Runtime } from "../../packages/server/src/operations/runtime.ts";
import type { Caller } from "../../packages/server/src/operations/shared/caller.ts";
import type { Db } from "../../packages/server/src/ports.ts";
import { insertMembrane } from "../../packages/server/src/store/membranes/membranes.ts";
import { lockHead } from "../../packages/server/src/store/organizations/heads.ts";
import { insertPolicy, insertPolicyVersion } from "../../packages/server/src/store/policies/policies.ts";
import { insertKey, noteMade } from "../people/cast.ts";

/** Most that one agent may do in an hour. An action above it is blocked. */
export const hour_max = 100;
/** Most that is approved for one agent on a day in Berlin without people. */
export const day_max = 150;
/** A larger amount is reduced to this. */
const amount_max = 60;
export const review_seconds = 1_800;

export interface CountersCast {
  readonly org_id: string;
  readonly membrane_id: string;
  readonly operators: readonly [Caller, Caller];
  /** Keys that submit. A report of the host's key counts if it holds the claim. A report of an agent's key never counts. */
  readonly submitters: Readonly<Record<Submitter, Caller>>;
}

export type Submitter = "agent" | "host" | "test";

const amount = { key: ["agent.id"], value: "params.amount" };

const policySpecs: Readonly<Record<string, object>> = {
  hour: {
    counters: [{ ...amount, name: "hour", window: "1h" }],
    when: `count.hour.sum > ${hour_max}.0`,
    effect: "block",
    override: "reviewer",
  },
  day: {
    counters: [{ ...amount, name: "day", window: { calendar: "day", zone: "Europe/Berlin" }, counts: ["approve"] }],
    when: `count.day.sum > ${day_max}.0`,
    effect: "escalate",
    escalation: { reviewers: ["role:operator"], on_timeout: "block" },
  },
  ask: {
    when: "params.ask",
    effect: "escalate",
    escalation: { reviewers: ["role:operator"], on_timeout: "approve" },
  },
  cap: {
    when: `params.amount > ${amount_max}.0`,
    effect: "approve_modified",
    modify: [{ op: "cap", path: "/amount", value: String(amount_max) }],
  },
};

/** Creates the organization with keys, a membrane and policies that count. */
export async function prepareCounters(db: Db, runtime: Runtime): Promise<CountersCast> {
  const org_id = runtime.ids.next("organization");
  const membrane_id = runtime.ids.next("membrane");
  return db.system(async (query) => {
    await createOrganization(runtime, query, { org_id, name: "sim", email: null, description: "sim", actor: "system" });
    const membrane = membraneOf(membrane_id);
    await insertMembrane(query, org_id, membrane);
    await noteMade(runtime, query, org_id, "membrane_created", { membrane });
    for (const [name, spec] of Object.entries(policySpecs)) {
      const document = await acceptedDocument({
        policy: { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec },
      });
      const version = {
        policy_id: runtime.ids.next("policy"),
        version: 1,
        sha256: policySha256(document),
        document,
        created_at,
      };
      const policy = { name, title: null, status: "live" as const, active_version: 1, updated_at: created_at };
      await insertPolicy(query, org_id, { ...version, ...policy });
      await insertPolicyVersion(query, org_id, { ...version, created_by: "system" });
      await noteMade(runtime, query, org_id, "policy_saved", { policy_id: version.policy_id, version: 1, name });
    }
    const key = (role: Caller["role"], created_by: string | null, environment: "live" | "test" = "live") =>
      insertKey(runtime, query, org_id, { role, created_by, environment });
    const creator = await key("admin", null);
    const operators = [await key("operator", null), await key("operator", null)] as const;
    const agent = await key("agent", creator.key_id);
    const host = await key("host", creator.key_id);
    const test = await key("agent", creator.key_id, "test");
    // Each new key raises the epoch, and a caller of an older epoch would begin each operation twice.
    const { auth_epoch } = await lockHead(query, org_id);
    const current = (caller: Caller): Caller => ({ ...caller, auth_epoch });
    return {
      org_id,
      membrane_id,
      operators: [current(operators[0]), current(operators[1])],
      submitters: { agent: current(agent), host: current(host), test: current(test) },
    };
  });
}

const created_at = "2026-10-01T00:00:00.000000Z";

function membraneOf(membrane_id: string): Membrane {
  return {
    ...structuredClone(membraneDefaults),
    ...{ membrane_id, name: "sim", status: "live", is_default: false, created_at },
    packs: [],
    default_verdict: "approve",
    escalation: { timeout_seconds: review_seconds, on_timeout: "block", reviewers: [], quorum: 1 },
  };
}
