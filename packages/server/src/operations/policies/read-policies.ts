import type { Policy } from "@countersign/contract";
import { Fault } from "@countersign/core";
import {
  readPolicies,
  readPolicy,
  readPolicyVersions,
  type StoredPolicy,
  type StoredPolicyVersion,
} from "../../store/policies/policies.ts";
import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import { rulesOutOfReach } from "../people/voting/reach.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

interface PageQuery {
  readonly limit?: number;
  readonly cursor?: string;
}

const isPolicy = idPlace("policy");

/** Lists policies, newest first, and marks those that nobody can decide. Faults: invalid_request (cursor). */
export async function listPolicies(
  { db }: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  { status, limit = pageLimitDefault, cursor }: PageQuery & { readonly status?: Policy["status"] },
): Promise<{ policies: StoredPolicy[]; next_cursor: string | null }> {
  const before = decodeCursor(cursor, isPolicy);
  const found = await db.tenant(org_id, (query) =>
    readPolicies(query, org_id, { status: status ?? null, limit: limit + 1, before }),
  );
  const { rows, next_cursor } = page(found, limit, (row) => row.policy_id);
  return { policies: await withReach(db, org_id, rows), next_cursor };
}

export async function getPolicy(
  { db }: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  policy_id: string,
): Promise<StoredPolicy> {
  const policy = await db.tenant(org_id, (query) => readPolicy(query, org_id, policy_id));
  if (policy === undefined) throw new Fault("not_found");
  const [shown = policy] = await withReach(db, org_id, [policy]);
  return shown;
}

async function withReach(
  db: Pick<Runtime, "db">["db"],
  org_id: string,
  policies: readonly StoredPolicy[],
): Promise<(StoredPolicy & Pick<Policy, "nobody_can_decide">)[]> {
  if (!policies.some(({ status }) => status === "live")) return [...policies];
  const rules = await db.tenant(org_id, (query) => rulesOutOfReach(query, org_id));
  const messages = new Map(rules.map(({ policy_id, message }) => [policy_id, message]));
  return policies.map((policy) => {
    const nobody_can_decide = messages.get(policy.policy_id);
    return nobody_can_decide === undefined ? policy : { ...policy, nobody_can_decide };
  });
}

export async function listPolicyVersions(
  { db }: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  policy_id: string,
  { limit = pageLimitDefault, cursor }: PageQuery,
): Promise<{ versions: StoredPolicyVersion[]; next_cursor: string | null }> {
  const before = decodeCursor(cursor, (place) => /^[1-9]\d{0,8}$/.test(place));
  const found = await db.tenant(org_id, async (query) => {
    if ((await readPolicy(query, org_id, policy_id)) === undefined) throw new Fault("not_found");
    return readPolicyVersions(query, org_id, policy_id, { limit: limit + 1, before: before === null ? null : +before });
  });
  const { rows: versions, next_cursor } = page(found, limit, (row) => String(row.version));
  return { versions, next_cursor };
}
