/** SQL for coverage: what agents asked a membrane for, in their own words. */
import type { Query } from "../../ports.ts";
import { earliestId } from "../intents/intents.ts";

/** Intents that declare the same. */
export interface DeclaredActions {
  /** Null: there are such intents, but they were not looked at. */
  readonly declared: {
    readonly verb: string;
    readonly type: string | null;
    readonly data_classes: readonly string[] | null;
  } | null;
  readonly count: number;
  /** Of them, blocked or escalated. */
  readonly held: number;
}

/** Intents that are looked at, and how many bytes of them as they are stored: one at least. */
const intents_max = 5_000;
const bytes_max = 8 * 1_048_576;

/** What the newest intents from then on declared, those in test mode left out. `from`: RFC 3339. */
export async function readDeclaredActions(
  query: Query,
  org_id: string,
  membrane_id: string,
  from: string,
): Promise<DeclaredActions[]> {
  return query<DeclaredActions>(
    `select words::json as declared, sum(count)::integer as count, sum(held)::integer as held
     from (select case when place <= ${intents_max} and bytes_before < ${bytes_max} then json_build_object(
         'verb', intent #> '{submitted,action,verb}', 'type', intent #> '{submitted,action,type}',
         'data_classes', intent #> '{submitted,data_classes}')::text
       end as words, 1 as count, (verdict in ('block', 'escalate'))::integer as held
       from (select intent, verdict, row_number() over newest as place,
           sum(pg_column_size(intent)) over newest - pg_column_size(intent) as bytes_before
         from (select intent_id, intent, verdict from intents
           where org_id = $1 and membrane_id = $2 and created_at >= $3::timestamptz and intent_id >= $4 and mode <> 'test'
           order by intent_id desc limit ${intents_max + 1}) asked
         window newest as (order by intent_id desc)) weighed) worded
     group by words`,
    [org_id, membrane_id, from, earliestId({ from, membrane_id })],
  );
}
