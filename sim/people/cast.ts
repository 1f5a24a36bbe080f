import type { Membrane } from "@countersign/contract";
import { policySha256 } from "@countersign/core";
import { insertNewKey } from "../../packages/server/src/operations/keys/create-key.ts";
import { membraneDefaults } from "../../packages/server/src/operations/membranes/membranes.ts";
import { createOrganization } from "../../packages/server/src/operations/organizations/create-organization.ts";
import { acceptedDocument } from "../../packages/server/src/operations/policies/policy-documents.ts";
import type { Runtime } from "../../packages/server/src/operations/runtime.ts";
import type { Caller } from "../../packages/server/src/operations/shared/caller.ts";
import type { Db, Query } from "../../packages/server/src/ports.ts";
import { auditRow } from "../../packages/server/src/store/audit/audit.ts";
import { insertMembrane } from "../../packages/server/src/store/membranes/membranes.ts";
import { lockHead, withHead } from "../../packages/server/src/store/organizations/heads.ts";
import { insertPolicy, insertPolicyVersion } from "../../packages/server/src/store/policies/policies.ts";
import type { Random } from "../random.ts";

export interface Cast {
  readonly org_id: string;
  readonly people: readonly Caller[];
  /** Created the agents' keys, so it is the same person and must not decide on their actions. */
  readonly creator: Caller;
  /** Made with the live agent's key, so it must not override that agent's blocks. */
  readonly offspring: Caller;
  readonly agents: Readonly<Record<"live" | "test", Caller>>;
  /**
   * Verdicts: escalate (quorum 1), escalate (quorum 2), block, and with rules: approve unless a policy stops the
   * action.
   */
  readonly membranes: readonly string[];
  /** Empty in worlds without rules. */
  readonly policies: readonly CastPolicy[];
}

interface CastPolicy {
  readonly policy_id: string;
  readonly name: PolicyName;
  readonly live: boolean;
}

/** `asks_admin`: one admin. `asks_operators`: two people, after the admin. `stops`: blocks; two people may override. */
export type PolicyName = "asks_admin" | "asks_operators" | "stops";

export type Mode = "live" | "test";

export const escalated_action = 9;
/** The membrane that approves unless a policy stops the action. */
export const by_policies = 3;

const policySpecs: Readonly<Record<PolicyName, object>> = {
  asks_admin: {
    when: "true",
    effect: "escalate",
    escalation: { reviewers: ["role:admin"], quorum: 1, on_timeout: "block" },
  },
  asks_operators: {
    when: "true",
    effect: "escalate",
    escalation: { reviewers: ["role:operator"], quorum: 2, after: "asks_admin", on_timeout: "approve" },
  },
  stops: { when: "true", effect: "block", override: "two_person" },
};

export function adminOf({ people }: Pick<Cast, "people">): Caller {
  return people.find(({ role }) => role === "admin") as Caller;
}

/** Creates the organization with keys, membranes and, if `with_rules`, policies. */
export async function prepareCast(db: Db, runtime: Runtime, random: Random, with_rules: boolean): Promise<Cast> {
  const org_id = runtime.ids.next("organization");
  const membrane_ids = (with_rules ? [0, 1, 2, by_policies] : [0, 1, 2]).map(() => runtime.ids.next("membrane"));
  return db.system(async (query) => {
    await createOrganization(runtime, query, { org_id, name: "sim", email: null, description: "sim", actor: "system" });
    for (const [n, membrane_id] of membrane_ids.entries()) {
      const on_timeout = random.pick(["block", "approve"] as const);
      const membrane = membraneOf(n, membrane_id, on_timeout);
      await insertMembrane(query, org_id, membrane);
      await noteMade(runtime, query, org_id, "membrane_created", { membrane });
    }
    const key = (role: Caller["role"], created_by: string | null, environment: "live" | "test" = "live") =>
      insertKey(runtime, query, org_id, { role, created_by, environment });
    const creator = await key("admin", null);
    const agents = { live: await key("agent", creator.key_id), test: await key("agent", creator.key_id, "test") };
    const offspring = await key("operator", agents.live.key_id);
    const people = [
      await key("operator", null),
      await key("operator", null),
      await key("admin", null),
      await key("operator", null),
    ];
    await query("update org_heads set webhooks = 1 where org_id = $1", [org_id]);
    const policies = with_rules ? await insertPolicies(runtime, query, org_id, random) : [];
    // Each new key raises the epoch, and a caller of an older epoch would begin each operation twice.
    const { auth_epoch } = await lockHead(query, org_id);
    const current = (caller: Caller): Caller => ({ ...caller, auth_epoch });
    return {
      org_id,
      people: people.map(current),
      creator: current(creator),
      offspring: current(offspring),
      agents: { live: current(agents.live), test: current(agents.test) },
      membranes: membrane_ids,
      policies,
    };
  });
}

/** The seed draws whether each policy is live or in shadow mode. */
async function insertPolicies(runtime: Runtime, query: Query, org_id: string, random: Random): Promise<CastPolicy[]> {
  const policies: CastPolicy[] = [];
  for (const [name, spec] of Object.entries(policySpecs) as [PolicyName, object][]) {
    const document = await acceptedDocument({
      policy: { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec },
    });
    const live = random.chance(0.3);
    const policy_id = runtime.ids.next("policy");
    const version = { policy_id, version: 1, sha256: policySha256(document), document, created_at };
    const policy = { name, title: null, status: live ? ("live" as const) : ("shadow" as const), active_version: 1 };
    await insertPolicy(query, org_id, { ...version, ...policy, updated_at: created_at });
    await insertPolicyVersion(query, org_id, { ...version, created_by: "system" });
    await noteMade(runtime, query, org_id, "policy_saved", { policy_id, version: 1, name });
    policies.push({ policy_id, name, live });
  }
  return policies;
}

const created_at = "2026-11-21T00:00:00.000000Z";
const default_verdicts = ["escalate", "escalate", "block", "approve"] as const;

/** 0 escalates to one person, 1 to two. 2 blocks, and one person may override. */
function membraneOf(n: number, membrane_id: string, on_timeout: "block" | "approve"): Membrane {
  const about = {
    membrane_id,
    name: `m${n}`,
    status: "live",
    is_default: false,
    created_at,
  } as const;
  return {
    ...structuredClone(membraneDefaults),
    ...about,
    packs: [],
    default_verdict: default_verdicts[n] as Membrane["default_verdict"],
    escalation: { timeout_seconds: 3_600, on_timeout, reviewers: [], quorum: n === 1 ? 2 : 1 },
  };
}

/** Writes the entry of a row that was made without its operation. */
export async function noteMade(
  { ids }: Pick<Runtime, "ids">,
  query: Query,
  org_id: string,
  type: "membrane_created" | "policy_saved",
  data: Readonly<Record<string, unknown>>,
): Promise<void> {
  const entry = auditRow(ids, { intent_id: null, at: created_at, actor: "system", type, data });
  await withHead(query, org_id, { audit: [entry] });
}

export async function insertKey(
  runtime: Runtime,
  query: Query,
  org_id: string,
  { role, created_by, environment }: Pick<Caller, "role"> & { created_by: string | null; environment: "live" | "test" },
): Promise<Caller> {
  const usual = { org_id, name: null, scope: "org", agent_id: null, actor: "system" } as const;
  const { key_id } = await insertNewKey(runtime, query, { ...usual, environment, role, created_by });
  return {
    ...{ org_id, key_id, user_id: null, session_id: null, lineage_id: key_id, role },
    ...{ scope: "org", agent_id: null, bindings: null, environment, actor: key_id, auth_epoch: 0 },
  };
}
