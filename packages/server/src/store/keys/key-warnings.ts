/** SQL about the row `k` of api_keys. */
import { limits, type WarnedKey } from "@countersign/contract";
import type { Query } from "../../ports.ts";

/** SQL: the key can be used. Compares with the statement's time, so that indexes apply. */
export const is_valid = "k.revoked_at is null and k.expires_at > statement_timestamp()";

const any_live = "exists (select from membranes m where m.org_id = k.org_id and m.status = 'live')";

/** `binding`: SQL, whether an unbound key could escape rules. */
const warningsWhere = (binding: string): string => `case when ${is_valid} then to_json(array_remove(array[
    case when k.role = 'agent' and k.scope = 'org' and k.bindings is null and ${binding} then 'unbound' end,
    case when k.role = 'admin' and k.last_submitted_at > statement_timestamp() - interval '${limits.observed_bindings_days} days'
      then 'admin_submits' end,
    case when k.expires_at <= statement_timestamp() + interval '${limits.key_expiry_days[0]} days' then 'expires_soon' end
  ], null)) else '[]'::json end`;

/** SQL: the warnings of a key as a JSON array; see `keyWarnings`. */
export const key_warnings: string = warningsWhere(any_live);

/** `as_if_live`: as after a membrane went live. */
export function readWarnedKeys(query: Query, org_id: string, limit: number, as_if_live = false): Promise<WarnedKey[]> {
  return query<WarnedKey>(
    `select key_id, name, role, expires_at, warnings from (
       select key_id, name, role, expires_at, ${as_if_live ? warningsWhere("true") : key_warnings} as warnings
       from api_keys k where k.org_id = $1 and ${is_valid}) w
     where json_array_length(warnings) > 0 order by key_id desc limit $2::integer`,
    [org_id, limit],
  );
}

export interface SubmittedFor {
  readonly membrane_ids: readonly string[];
  readonly agent_ids: readonly string[];
  readonly decisions: number;
  readonly looked_at: number;
}

/** Searches the organization's newest `max` decisions since `first_id`. Each list has up to `listed_max` entries. */
export async function readSubmittedFor(
  query: Query,
  org_id: string,
  lineage_id: string,
  { first_id, max, listed_max }: { readonly first_id: string; readonly max: number; readonly listed_max: number },
): Promise<SubmittedFor> {
  const [row] = await query<SubmittedFor>(
    `with newest as materialized (
       select agent_id, membrane_id, lineage_id from ledger where org_id = $1 and type = 'decided' and intent_id >= $3
       order by intent_id desc limit $4::integer),
     own as materialized (select agent_id, membrane_id, count(*) as decisions from newest where lineage_id = $2 group by 1, 2)
     select coalesce((select json_agg(membrane_id) from (
           select distinct membrane_id from own order by membrane_id limit $5::integer) m), '[]') as membrane_ids,
         coalesce((select json_agg(agent_id) from (
           select distinct agent_id from own order by agent_id limit $5::integer) a), '[]') as agent_ids,
         coalesce((select sum(decisions) from own), 0)::integer as decisions,
         (select count(*) from newest)::integer as looked_at`,
    [org_id, lineage_id, first_id, max, listed_max],
  );
  if (row === undefined) throw new Error("a query without a table returned no row");
  return row;
}
