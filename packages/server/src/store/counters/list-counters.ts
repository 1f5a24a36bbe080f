import { type CounterRequest, limits } from "@countersign/contract";
import type { Query } from "../../ports.ts";

export interface ListedKey {
  readonly name: string;
  /** Canonical JSON. */
  readonly key: string;
  /** Hex. */
  readonly key_sha: string;
  /** Null: an adjustment began the key. */
  readonly agent_id: string | null;
  /** Null: none, or it has expired. */
  readonly requested: CounterRequest | null;
}

/** SQL: the columns of a row of `counters k`. */
export const listed_columns: string = `k.name, k.key, encode(k.key_sha, 'hex') as key_sha, k.agent_id,
  case when (k.requested ->> 'at')::timestamptz + interval '${limits.counter_request_hours} hours' > clock_timestamp()
    then k.requested end as requested`;

/** `agents`: folded; the key has one of them. Null: all keys. `names`: of tracks. */
export interface CounterKeyFilter {
  readonly mode: string;
  readonly names: readonly string[];
  readonly agents: readonly string[] | null;
}

/** Returns keys by name and hash, after a place. */
export function listCounterKeys(
  query: Query,
  org_id: string,
  { mode, names, agents }: CounterKeyFilter,
  after: { readonly name: string; readonly key_sha: string } | null,
  limit: number,
): Promise<ListedKey[]> {
  return query<ListedKey>(
    `select ${listed_columns} from counters k
     where k.org_id = $1 and k.mode = $2 and k.name = any ($3::text[])
       and ($4::text[] is null or k.key::jsonb ?| $4::text[])
       and ($5::text is null or (k.name, k.key_sha) > ($5, decode($6, 'hex')))
     order by k.name, k.key_sha limit $7::integer`,
    [
      org_id,
      mode,
      [...names],
      agents === null ? null : [...agents],
      after?.name ?? null,
      after?.key_sha ?? null,
      limit,
    ],
  );
}
