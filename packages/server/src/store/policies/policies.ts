import type { Policy, PolicyVersion } from "@countersign/contract";
import { canonicalJson, type PolicyDocument } from "@countersign/core";
import type { Query } from "../../ports.ts";

export type StoredPolicy = Omit<Policy, "document"> & { readonly document: PolicyDocument };

export type StoredPolicyVersion = Omit<PolicyVersion, "document"> & { readonly document: PolicyDocument };

export interface PolicyInForce {
  readonly policy_id: string;
  readonly version: number;
  readonly mode: "live" | "shadow";
  /** A restored database may have another document under the same number. */
  readonly sha256: string;
}

const columns = `p.policy_id, p.name, v.document #>> '{metadata,title}' as title, p.status, p.version, p.active_version,
  v.sha256, v.document, p.created_at, p.updated_at`;
const with_newest = `policies p join policy_versions v
  on v.org_id = p.org_id and v.policy_id = p.policy_id and v.version = p.version`;
const version_columns = "policy_id, version, sha256, document, created_at, created_by";

/** Newest first, older than `before`. */
export function readPolicies(
  query: Query,
  org_id: string,
  { status = null, limit, before }: { status?: Policy["status"] | null; limit: number; before: string | null },
): Promise<StoredPolicy[]> {
  return query<StoredPolicy>(
    `select ${columns} from ${with_newest} where p.org_id = $1 and ($2::text is null or p.status = $2)
       and ($3::text is null or p.policy_id < $3) order by p.policy_id desc limit $4::integer`,
    [org_id, status, before, limit],
  );
}

export async function readPolicy(query: Query, org_id: string, policy_id: string): Promise<StoredPolicy | undefined> {
  const rows = await query<StoredPolicy>(
    `select ${columns} from ${with_newest} where p.org_id = $1 and p.policy_id = $2`,
    [org_id, policy_id],
  );
  return rows[0];
}

/** Newest first, below `before`. */
export function readPolicyVersions(
  query: Query,
  org_id: string,
  policy_id: string,
  { limit, before }: { limit: number; before: number | null },
): Promise<StoredPolicyVersion[]> {
  return query<StoredPolicyVersion>(
    `select ${version_columns} from policy_versions where org_id = $1 and policy_id = $2
       and ($3::integer is null or version < $3) order by version desc limit $4::integer`,
    [org_id, policy_id, before, limit],
  );
}

/** Returns the number of unretired policies, and another policy whose newest or active version has the name. */
export async function readPolicyName(
  query: Query,
  org_id: string,
  name: string,
  policy_id: string,
): Promise<{ readonly count: number; readonly holder: string | null }> {
  const [row] = await query<{ count: number; holder: string | null }>(
    `select (count(*) filter (where p.status <> 'retired'))::int as count, max(p.policy_id) filter (where p.policy_id <> $3
       and (p.name = $2 or v.document #>> '{metadata,name}' = $2)) as holder
     from policies p left join lateral (select document from policy_versions where p.active_version <> p.version
       and org_id = p.org_id and policy_id = p.policy_id and version = p.active_version limit 1) v on true
     where p.org_id = $1`,
    [org_id, name, policy_id],
  );
  return row ?? { count: 0, holder: null };
}

/** Includes the names of all versions. */
export async function readPolicyNames(query: Query, org_id: string): Promise<string[]> {
  const rows = await query<{ name: string }>(
    "select distinct document->'metadata'->>'name' as name from policy_versions where org_id = $1",
    [org_id],
  );
  return rows.map(({ name }) => name);
}

export async function insertPolicy(query: Query, org_id: string, policy: StoredPolicy): Promise<void> {
  const { policy_id, name, status, version, active_version, created_at, updated_at } = policy;
  await query(
    `insert into policies (org_id, policy_id, name, status, version, active_version, created_at, updated_at)
     values ($1, $2, $3, $4, $5::integer, $6::integer, $7::timestamptz, $8::timestamptz)`,
    [org_id, policy_id, name, status, version, active_version, created_at, updated_at],
  );
}

export async function updatePolicy(query: Query, org_id: string, policy: StoredPolicy): Promise<void> {
  const { policy_id, name, status, version, active_version, updated_at } = policy;
  await query(
    `update policies set name = $3, status = $4, version = $5::integer, active_version = $6::integer,
       updated_at = $7::timestamptz where org_id = $1 and policy_id = $2`,
    [org_id, policy_id, name, status, version, active_version, updated_at],
  );
}

/** Stores the document in canonical form, whose SHA-256 is `sha256`. */
export async function insertPolicyVersion(query: Query, org_id: string, version: StoredPolicyVersion): Promise<void> {
  await query(
    `insert into policy_versions (org_id, policy_id, version, sha256, document, created_at, created_by)
     values ($1, $2, $3::integer, $4, $5::json, $6::timestamptz, $7)`,
    [
      org_id,
      version.policy_id,
      version.version,
      version.sha256,
      canonicalJson(version.document),
      version.created_at,
      version.created_by,
    ],
  );
}

/** Looks up versions one by one, because PostgreSQL planned a join over all versions. Runs after every pushed fact. */
const inForce = (columns: string) => `from policies p cross join lateral (
       select ${columns} from policy_versions where org_id = p.org_id and policy_id = p.policy_id and version = p.active_version limit 1) v
     where p.org_id = $1 and p.active_version is not null order by p.policy_id`;

export function readPoliciesInForce(query: Query, org_id: string): Promise<PolicyInForce[]> {
  return query<PolicyInForce>(
    `select p.policy_id, p.active_version as version, p.status as mode, v.sha256
     ${inForce("sha256")}`,
    [org_id],
  );
}

export function readDocumentsInForce(
  query: Query,
  org_id: string,
): Promise<(PolicyInForce & { readonly document: PolicyDocument })[]> {
  return query(
    `select p.policy_id, p.active_version as version, p.status as mode, v.sha256, v.document
     ${inForce("sha256, document")}`,
    [org_id],
  );
}

export function readHoldingPolicies(
  query: Query,
  org_id: string,
): Promise<
  {
    readonly policy_id: string;
    readonly name: string;
    readonly escalation: NonNullable<PolicyDocument["spec"]["escalation"]>;
  }[]
> {
  return query(
    `select policy_id, name, coalesce(document #> '{spec,escalation}', '{}') as escalation
     from (select p.policy_id, p.name, p.status, v.document ${inForce("document")}) as f
     where status = 'live' and (document #> '{spec,escalation}' is not null or document #>> '{spec,effect}' = 'escalate')
     order by policy_id`,
    [org_id],
  );
}
