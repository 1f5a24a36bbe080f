/**
 * The rows that decide who may do what. A change of such a row writes the row as it left it into its entry of the
 * ledger (`data.state`), so that `countersign audit verify` can compare tables with the ledger (decision 0066).
 */
import { type AuditType, foldName } from "@countersign/contract";
import type { Query } from "../../../ports.ts";

export type CoveredTable =
  | "agents"
  | "api_keys"
  | "counter_entries"
  | "escalations"
  | "freezes"
  | "grants"
  | "membranes"
  | "organizations"
  | "overrides"
  | "passkeys"
  | "people"
  | "policies"
  | "policy_versions"
  | "rollouts"
  | "token_issuers";

/** A covered row as an entry left it. Null: the entry deleted the row. */
export interface RowState {
  readonly table: CoveredTable;
  readonly id: string;
  readonly row: Readonly<Record<string, unknown>> | null;
}

interface Coverage {
  /** SQL that names a row of the organization. */
  readonly id: string;
  /** Columns, and SQL with `as`. The rest of the columns decides nothing, or changes without an entry. */
  readonly columns: string;
  /** SQL: only these rows are covered. */
  readonly where?: string;
  /** True: the first state of a row follows from its decision, so rows without an entry are checked elsewhere. */
  readonly begins_with_decision?: true;
}

const hex = (column: string) => `encode(${column}, 'hex') as ${column}`;
/** Entries must not contain what can be used or is large. */
const hashed = (bytes: string, name: string) => `encode(sha256(${bytes}), 'hex') as ${name}`;

export const coveredTables: Readonly<Record<CoveredTable, Coverage>> = {
  agents: {
    id: "subject",
    columns: "agent_id, owner, purpose, parent, registered_by, registered_at",
    where: "registered_at is not null",
  },
  api_keys: {
    id: "key_id",
    columns: `name, role, scope, environment, agent_id, bindings, rate_limits, person, created_by, lineage_id, rotated_from,
      ${hashed("key_sha256", "secret_check")}, created_at, expires_at, lifetime_seconds, revoked_at`,
  },
  counter_entries: {
    id: "mode || ':' || name || ':' || encode(key_sha, 'hex') || ':' || intent_id",
    columns: "at, micros, actions, state, vals, ends_at",
    where: "state <> 'released'",
    begins_with_decision: true,
  },
  escalations: {
    id: "escalation_id",
    columns: `intent_id, decision_id, agent_id, mode, status, lineage_id, ${hex("fingerprint")}, created_at, expires_at, closed_at,
      ${["record", "demands", "ruling", "resolution"].map((json) => hashed(`convert_to(${json}::text, 'UTF8')`, `${json}_check`)).join(", ")},
      approval_until, approval_holder, approval_spent, approval_revoked`,
    begins_with_decision: true,
  },
  freezes: {
    id: "kind || ':' || subject",
    columns:
      "kind, subject, name, mode, reason, frozen_by, frozen_at, since_seq, unfreeze_requested_by, unfreeze_requested_at",
  },
  grants: {
    id: "grant_id",
    columns: `intent_id, membrane_id, mode, lineage_id, agent, verb, action_type, scope, rules, times, reason, granted_by, created_at,
      expires_at, revoked_by, revoked_at`,
  },
  membranes: {
    id: "membrane_id",
    columns: `name, status, is_default, default_verdict, escalate_at, block_at, packs, rules_off, action_catalogue, facts_max_age,
      facts_from, agent_token, escalation, requested_move, created_at`,
  },
  organizations: {
    id: "org_id",
    columns: `plan_id, included_actions, unfreeze_needs_second_person, reviewer_figures, go_live_needs_ready, go_live_needs_name,
      go_live_needs_second_person, go_live_alone_requested_by, go_live_alone_requested_at, second_factor_required`,
  },
  overrides: {
    id: "override_id",
    columns: `intent_id, decision_id, agent_id, mode, ${hex("fingerprint")}, status, reason, lifts, policies_overridden, approved_by,
      seconded_by, created_at, approved_at, expires_at, consumed_by`,
  },
  passkeys: { id: "passkey_id", columns: `user_id, ${hex("public_key")}, created_at` },
  people: { id: "user_id", columns: "email, role, created_at" },
  policies: { id: "policy_id", columns: "name, status, version, active_version, created_at" },
  policy_versions: {
    id: "policy_id || '.' || version",
    columns: `sha256, ${hashed("convert_to(document::text, 'UTF8')", "document_check")}, created_by, created_at`,
  },
  rollouts: {
    id: "membrane_id",
    columns: `salt, stages, stage, status, guard, advances_itself, returns_holds_itself, holds_stage, breaches, requested_return, created_by,
      created_at`,
  },
  token_issuers: {
    id: "issuer_id",
    columns: "issuer, trust_domain, jwks_url, jwks, audience, algorithms, claims, leeway_seconds, created_at",
  },
};

/** Rows that an entry may have changed. */
export interface RowsOfEntry {
  readonly table: CoveredTable;
  /** SQL: the text by which the rows are looked up. In it, `$2` are all texts that are looked up. */
  readonly by: string;
  readonly value: string;
  /** The id of the row that the entry deletes if none is left. Null: the entry deletes none. */
  readonly deleted: string | null;
}

type Data = Readonly<Record<string, unknown>>;
type Of = (data: Data, intent_id: string | null) => readonly RowsOfEntry[];

const one = (table: CoveredTable, id: unknown): RowsOfEntry => {
  return { table, by: coveredTables[table].id, value: String(id), deleted: String(id) };
};
const some = (table: CoveredTable, by: string, value: unknown): RowsOfEntry => {
  return { table, by, value: String(value), deleted: null };
};

const organization: Of = () => [some("organizations", "''", "")];
const key: Of = ({ key_id }) => [one("api_keys", key_id)];
const chain_of_key = `(select k.key_id from api_keys k
  where k.org_id = $1 and k.key_id = any ($2::text[]) and k.lineage_id = api_keys.lineage_id limit 1)`;
const membrane: Of = ({ membrane_id, membrane: created }) => [
  one("membranes", membrane_id ?? (created as { membrane_id: string }).membrane_id),
];
const rollout: Of = ({ membrane_id }) => [one("rollouts", membrane_id)];
const policy: Of = ({ policy_id }) => [one("policies", policy_id)];
const savedPolicy: Of = ({ policy_id, version }) => [
  one("policies", policy_id),
  one("policy_versions", `${policy_id}.${version}`),
];
const issuer: Of = ({ token_issuer }) => [one("token_issuers", (token_issuer as { issuer_id: string }).issuer_id)];
const overridesOfIntent: Of = (_, intent_id) => [some("overrides", "intent_id", intent_id)];
const grant: Of = ({ grant_id }) => [one("grants", grant_id)];
const freeze: Of = ({ kind, subject }) => [one("freezes", `${kind}:${subject}`)];
const person: Of = ({ user_id }) => [one("people", user_id)];
const passkey: Of = ({ passkey_id }) => [one("passkeys", passkey_id)];
/** An entry of an action that changed no review has no `escalation_id`. */
const review: Of = ({ escalation_id, counts_of = [] }) => [
  ...(escalation_id == null ? [] : [one("escalations", escalation_id)]),
  ...(counts_of as string[]).map((intent_id) => some("counter_entries", "intent_id", intent_id)),
];
const counter: Of = ({ place }) => [some("counter_entries", counter_place, place)];

/** SQL: the key of a counter. */
export const counter_place = "mode || ':' || name || ':' || encode(key_sha, 'hex')";

const rowsOf: Readonly<Partial<Record<AuditType, Of>>> = {
  agent_registered: ({ agent_id }) => [one("agents", foldName(String(agent_id)))],
  approval_handed_on: review,
  approval_revoked: review,
  cancelled: review,
  counter_adjusted: counter,
  claimed: review,
  frozen: freeze,
  grant_revoked: grant,
  granted: grant,
  key_bindings_changed: key,
  key_created: key,
  key_limits_changed: ({ key_id }) => [some("api_keys", chain_of_key, key_id)],
  key_revoked: key,
  key_rotated: ({ key_id, rotated_from }) => [one("api_keys", key_id), one("api_keys", rotated_from)],
  membrane_changed: membrane,
  membrane_created: membrane,
  membrane_move_requested: membrane,
  membrane_returned_to_shadow: membrane,
  membrane_went_live: membrane,
  observed: review,
  organization_change_requested: organization,
  organization_changed: organization,
  organization_created: organization,
  overridden: overridesOfIntent,
  override_revoked: overridesOfIntent,
  passkey_deleted: passkey,
  passkey_registered: passkey,
  plan_changed: organization,
  policy_activated: policy,
  policy_retired: policy,
  policy_saved: savedPolicy,
  reassigned: review,
  reviewed: review,
  rollout_advanced: rollout,
  rollout_planned: rollout,
  rollout_removed: rollout,
  rollout_return_requested: rollout,
  rollout_returned: rollout,
  rollout_stopped: rollout,
  timed_out: review,
  token_issuer_added: issuer,
  token_issuer_removed: issuer,
  token_issuer_replaced: issuer,
  unfreeze_requested: freeze,
  unfrozen: freeze,
  user_joined: person,
  user_removed: person,
  user_role_changed: person,
  voted: review,
};

/** Returns the rows that an entry may have changed. None: the entry changes no covered row. */
export function rowsOfEntry(type: string, data: Data, intent_id: string | null): readonly RowsOfEntry[] {
  return rowsOf[type as AuditType]?.(data, intent_id) ?? [];
}

/** Returns covered rows by the values that `by` found. `values`: the texts that are looked up. */
export async function lookUp(
  query: Query,
  org_id: string,
  { table, by }: Pick<RowsOfEntry, "table" | "by">,
  values: readonly string[],
): Promise<Map<string, RowState[]>> {
  const found = new Map<string, RowState[]>();
  const rows = await query<{ looked_up: string; covered_id: string } & Record<string, unknown>>(
    `select ${by} as looked_up, ${selected(table)} and ${by} = any ($2::text[]) order by covered_id`,
    [org_id, values],
  );
  for (const { looked_up, covered_id: id, ...row } of rows)
    found.set(looked_up, [...(found.get(looked_up) ?? []), { table, id, row }]);
  return found;
}

/** Returns the covered rows with ids above `after`, in order. */
export async function readCovered(
  query: Query,
  org_id: string,
  table: CoveredTable,
  after: string,
  limit: number,
): Promise<RowState[]> {
  const rows = await query<{ covered_id: string } & Record<string, unknown>>(
    `select ${selected(table)} and ${coveredTables[table].id} > $2 order by covered_id limit $3::integer`,
    [org_id, after, limit],
  );
  return rows.map(({ covered_id: id, ...row }) => ({ table, id, row }));
}

function selected(table: CoveredTable): string {
  const { id, columns, where = "true" } = coveredTables[table];
  return `${id} as covered_id, ${columns} from ${table} where org_id = $1 and ${where}`;
}
