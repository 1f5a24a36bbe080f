import type { PolicyInput } from "@countersign/contract";
import { type Fault, faultAt, formatTimestampUs, policySha256 } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { insertPolicy, insertPolicyVersion, readPolicyName, type StoredPolicy } from "../../store/policies/policies.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Recording } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";
import { acceptedDocument, refuseLateTier } from "./policy-documents.ts";

/** Maximum of policies, without retired ones, which are kept forever. */
const policies_max = 1_000;

/**
 * Saves version 1 of a new policy as a draft, which decides nothing. Failed tests do not prevent it. Faults:
 * policy_invalid, already_exists (name, or 1,000 policies), idempotency_conflict.
 */
export async function createPolicy(
  runtime: Recording,
  caller: KnownCaller & Pick<Caller, "lineage_id">,
  input: PolicyInput,
  idempotency_key?: string,
): Promise<OnceAnswer<StoredPolicy>> {
  const { org_id, actor } = caller;
  const document = await acceptedDocument(input);
  const terms = { operation: "createPolicy", idempotency_key, request: input };
  return idempotent(runtime, caller, terms, async (query) => {
    const at = formatTimestampUs(runtime.clock.now_us());
    const { name, title = null } = document.metadata;
    const sha256 = policySha256(document);
    const policy: StoredPolicy = {
      policy_id: runtime.ids.next("policy"),
      name,
      title,
      status: "draft",
      version: 1,
      active_version: null,
      sha256,
      document,
      created_at: at,
      updated_at: at,
    };
    const { policy_id } = policy;
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      await refuseTakenName(query, org_id, policy);
      await refuseLateTier(query, org_id, document);
      await insertPolicy(query, org_id, policy);
      await insertPolicyVersion(query, org_id, {
        policy_id,
        version: 1,
        sha256,
        document,
        created_at: at,
        created_by: actor,
      });
      const data = { policy_id, version: 1, name, sha256 };
      return { audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "policy_saved", data })] };
    });
    return policy;
  });
}

export async function refuseTakenName(
  query: Query,
  org_id: string,
  { policy_id, name, version }: Pick<StoredPolicy, "policy_id" | "name" | "version">,
): Promise<void> {
  const { count, holder } = await readPolicyName(query, org_id, name, policy_id);
  if (holder !== null) throw taken("/policy/metadata/name", `The policy ${holder} of your organization has this name.`);
  if (version === 1 && count >= policies_max)
    throw taken("", `An organization has at most ${policies_max} policies that are not retired.`);
}

function taken(path: string, message: string): Fault {
  return faultAt("already_exists", path, "already_exists", message);
}
