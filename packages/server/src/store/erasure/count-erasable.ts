import { type ErasureCounts, foldName } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { facts_about } from "./erase-attached.ts";
import { readErasable, type Subject } from "./erase-entries.ts";

/** Counts what an erasure of these intents, and of what names the subject, would remove. Locks nothing. */
export async function countErasable(
  query: Query,
  org_id: string,
  intent_ids: readonly string[],
  { kind, subject }: Subject,
): Promise<ErasureCounts> {
  const found = await readErasable(query, org_id, intent_ids);
  const free = found.filter(({ held }) => !held);
  const ids = free.map(({ intent_id }) => intent_id);
  const reviews = [...new Set(free.flatMap(({ escalation_id }) => (escalation_id === null ? [] : [escalation_id])))];
  const named =
    kind === "intent" || kind === "agent"
      ? null
      : kind === "value"
        ? JSON.stringify(subject).slice(1, -1)
        : JSON.stringify(subject);
  const [counts] = await query<Omit<ErasureCounts, "intents" | "held">>(
    `select (select count(*)::integer from ledger where org_id = $1 and type <> 'decided' and intent_id is not null
         and intent_id = any ($2::text[]) and leaf is null) as entries,
       (select count(*)::integer from escalations where org_id = $1 and escalation_id = any ($3::text[])) as reviews,
       (select count(*)::integer from overrides where org_id = $1 and intent_id = any ($2::text[])) as overrides,
       (select count(*)::integer from grants where org_id = $1
         and (intent_id = any ($2::text[]) or strpos(scope::text || to_json(reason)::text, $4) > 0)) as grants,
       (select count(*)::integer from idempotency_keys where org_id = $1 and response is not null and (strpos(response::text, $4) > 0
         or exists (select from unnest($2::text[]) as t(named) where strpos(response::text, t.named) > 0))) as answers,
       (select count(*)::integer from backtests b cross join lateral (select b.summary::text || b.input::text || b.result::text as whole) w
         where b.org_id = $1 and (strpos(w.whole, $4) > 0
           or exists (select from unnest($2::text[]) as t(named) where strpos(w.whole, t.named) > 0))) as backtests,
       (select count(*)::integer from counters where org_id = $1 and (strpos(key, $4) > 0 or strpos(key, $5) > 0)) as counters,
       (select count(*)::integer from deliveries where org_id = $1 and body <> '' and intent_id = any ($2::text[])) as deliveries`,
    [org_id, ids, reviews, named, named === null ? null : foldName(named)],
  );
  if (counts === undefined) throw new Error("a query without a table returned no row");
  const [others] = await query<Pick<ErasureCounts, "facts" | "addresses">>(
    `select (select count(*)::integer from stored_context c where ${facts_about}) as facts,
       case when $2 <> 'value' then 0 else (select count(*)::integer from removed_addresses
         where org_id = $1 and strpos(lower(email), lower($3)) > 0) end as addresses`,
    [org_id, kind, subject],
  );
  return {
    ...counts,
    ...(others as Pick<ErasureCounts, "facts" | "addresses">),
    intents: ids.length,
    held: found.length - ids.length,
  };
}
