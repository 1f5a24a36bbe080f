import type { Query } from "../../../ports.ts";
import type { Difference } from "./differences.ts";

interface Found {
  readonly id: string;
  readonly problem: Difference["problem"];
  readonly columns: string[];
  readonly seq: number | null;
}

/** Compares each claim with the entry that made it. */
export function verifyClaims(query: Query, org_id: string): AsyncGenerator<Difference> {
  return differences(
    query,
    org_id,
    "claims",
    `select coalesce(c.intent_id, l.intent_id) as id, l.seq,
       case when c.intent_id is null then 'missing' when l.seq is null then 'unknown' else 'changed' end as problem,
       array_remove(array[
         case when c.actor <> l.actor then 'actor' end,
         case when c.claimed_at <> l.at then 'claimed_at' end,
         case when c.seq <> l.seq then 'seq' end,
         case when c.lineage_id is distinct from k.lineage_id and (c.lineage_id is not null or k.key_id is not null) then 'lineage_id' end,
         case when c.unsettled = exists (select from ledger o where o.org_id = $1 and o.intent_id = l.intent_id and o.type = 'observed'
           and o.seq > l.seq) then 'unsettled' end], null) as columns
     from (select * from claims where org_id = $1) c
     full join (select * from ledger where org_id = $1 and type = 'claimed') l on l.intent_id = c.intent_id
     left join api_keys k on k.org_id = $1 and k.key_id = l.actor`,
  );
}

/** Compares each use of a grant with the entry of the action that used it. */
export function verifyGrantUses(query: Query, org_id: string): AsyncGenerator<Difference> {
  return differences(
    query,
    org_id,
    "grant_uses",
    `select coalesce(u.grant_id, l.grant_id) || '.' || coalesce(u.use, l.use) as id, l.seq,
       case when u.use is null then 'missing' when l.seq is null then 'unknown' else 'changed' end as problem,
       array_remove(array[
         case when u.intent_id <> l.intent_id then 'intent_id' end,
         case when u.at <> l.at then 'at' end], null) as columns
     from (select * from grant_uses where org_id = $1) u
     full join (select seq, intent_id, at, noted ->> 'grant_id' as grant_id, (noted ->> 'use')::integer as use
       from ledger cross join lateral (select coalesce(data, kept -> 'data') as noted) n where org_id = $1 and type = 'grant_used') l on l.grant_id = u.grant_id and l.use = u.use`,
  );
}

/** `rows`: SQL for rows of `Found`. A row without a problem is left out here. */
async function* differences(query: Query, org_id: string, table: string, rows: string): AsyncGenerator<Difference> {
  const found = await query<Found>(
    `select * from (${rows}) found where problem <> 'changed' or cardinality(columns) > 0 order by id`,
    [org_id],
  );
  for (const { id, problem, columns, seq } of found)
    yield { table, id, problem, columns: problem === "changed" ? columns : [], seq };
}
