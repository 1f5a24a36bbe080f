/** Saves versions of policies and changes which one is in force. Every change of that raises the policy epoch. */
import type { ActivateInput, NotReady, PolicyInput } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, policySha256 } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { insertPolicyVersion, readPolicy, type StoredPolicy, updatePolicy } from "../../store/policies/policies.ts";
import { refuseCounterConflict } from "../counters/refuse-conflicts.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Recording, Runtime } from "../runtime.ts";
import { refuseTakenName } from "./create-policy.ts";
import { acceptedDocument, refuseLateTier, refuseRedTests } from "./policy-documents.ts";
import { readNotReady } from "./read-policy-readiness.ts";

/**
 * Saves a new version; the one in force stays until activation. The same document again changes nothing. Faults:
 * policy_invalid, not_found, already_exists (name), state_conflict (retired).
 */
export async function replacePolicy(
  runtime: Recording,
  caller: KnownCaller,
  policy_id: string,
  input: PolicyInput,
): Promise<StoredPolicy> {
  const document = await acceptedDocument(input);
  const sha256 = policySha256(document);
  return change(runtime, caller, policy_id, async (policy, at, query) => {
    if (policy.sha256 === sha256) return null;
    const { name, title = null } = document.metadata;
    const version = policy.version + 1;
    const after = { ...policy, name, title, version, sha256, document };
    await refuseTakenName(query, caller.org_id, after);
    await refuseLateTier(query, caller.org_id, document);
    const created_by = caller.actor;
    await insertPolicyVersion(query, caller.org_id, {
      policy_id,
      version,
      sha256,
      document,
      created_at: at,
      created_by,
    });
    return { after, type: "policy_saved", data: { policy_id, version, name, sha256 } };
  });
}

/** `not_ready`: why the version was not ready to be live; also in the audit record. */
interface ActivatedPolicy {
  readonly policy: StoredPolicy;
  readonly not_ready: readonly NotReady[];
}

/** Findings about the version with this hash, made before the lock. */
interface Looked {
  readonly sha256: string;
  readonly not_ready: readonly NotReady[];
}

/**
 * Activates the newest version, in shadow or live, in place of the earlier one. Faults: not_found, policy_invalid (a
 * failed test, a counter that another policy defines differently), state_conflict (retired, already in force like this, or newer than the named version).
 */
export async function activatePolicy(
  runtime: Recording & Pick<Runtime, "packRules">,
  caller: KnownCaller,
  policy_id: string,
  input: ActivateInput,
): Promise<ActivatedPolicy> {
  // Tests run before the lock, so that the organization does not wait. The hash identifies the tested version.
  let looked: Looked | null = null;
  const read = () => runtime.db.tenant(caller.org_id, (query) => readPolicy(query, caller.org_id, policy_id));
  for (let attempt = 1; attempt <= attempts_max; attempt += 1) {
    const policy = await read();
    if (policy !== undefined && isToActivate(policy, input)) {
      await refuseRedTests(policy.document);
      const not_ready = input.mode === "live" ? await readNotReady(runtime, caller, policy) : [];
      looked = { sha256: policy.sha256, not_ready };
    }
    const activated = await activate(runtime, caller, policy_id, input, looked);
    if (activated !== null) return activated;
  }
  throw conflict("The policy changed during every attempt. Try again.");
}

const attempts_max = 5;

function isToActivate(policy: StoredPolicy, { mode, version = policy.version }: ActivateInput): boolean {
  if (policy.status === "retired" || policy.version !== version) return false;
  return !(policy.status === mode && policy.active_version === version);
}

async function activate(
  runtime: Recording & Pick<Runtime, "packRules">,
  caller: KnownCaller,
  policy_id: string,
  input: ActivateInput,
  looked: Looked | null,
): Promise<ActivatedPolicy | null> {
  let isOther = false;
  const policy = await change(runtime, caller, policy_id, async (policy, _, query) => {
    const { version, name, sha256, document } = policy;
    const { mode } = input;
    if (version !== (input.version ?? version)) throw conflict(`The newest version of the policy is ${version}.`);
    if (!isToActivate(policy, input)) throw conflict(`Version ${version} of the policy is ${mode} already.`);
    if (looked?.sha256 !== sha256) {
      isOther = true;
      return null;
    }
    await refuseCounterConflict(runtime, query, caller.org_id, policy_id, document);
    const after = { ...policy, status: mode, active_version: version };
    const not_ready = looked.not_ready.map(({ code, message }) => ({ code, message }));
    return { after, type: "policy_activated", data: { policy_id, version, name, sha256, mode, not_ready } };
  });
  return isOther ? null : { policy, not_ready: looked?.not_ready ?? [] };
}

/** Retires the policy permanently. Faults: not_found, state_conflict (already retired). */
export function retirePolicy(runtime: Recording, caller: KnownCaller, policy_id: string): Promise<StoredPolicy> {
  return change(runtime, caller, policy_id, async (policy) => {
    const { name, active_version } = policy;
    const after = { ...policy, status: "retired" as const, active_version: null };
    return { after, type: "policy_retired", data: { policy_id, name, active_version } };
  });
}

interface Change {
  readonly after: StoredPolicy;
  readonly type: "policy_saved" | "policy_activated" | "policy_retired";
  readonly data: Readonly<Record<string, unknown>>;
}

/** Runs under the head's lock, so that changes of a policy are in order. Null: no change. */
function change(
  runtime: Recording,
  caller: KnownCaller,
  policy_id: string,
  decide: (policy: StoredPolicy, at: string, query: Query) => Promise<Change | null>,
): Promise<StoredPolicy> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  return runtime.db.tenant(org_id, async (query) => {
    let result: StoredPolicy | undefined;
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const policy = await readPolicy(query, org_id, policy_id);
      if (policy === undefined) throw new Fault("not_found");
      if (policy.status === "retired") throw conflict("The policy is retired.");
      result = policy;
      const wanted = await decide(policy, at, query);
      if (wanted === null) return null;
      result = { ...wanted.after, updated_at: at };
      await updatePolicy(query, org_id, result);
      const audit = [auditRow(runtime.ids, { intent_id: null, at, actor, type: wanted.type, data: wanted.data })];
      return wanted.type === "policy_saved" ? { audit } : { audit, raise: ["policy"] };
    });
    return result as StoredPolicy;
  });
}

function conflict(message: string): Fault {
  return faultAt("state_conflict", "/status", "status", message);
}
