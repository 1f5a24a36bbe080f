import type { Query } from "../../ports.ts";
import { earliestId } from "../intents/intents.ts";

export interface DeclaredActions {
  /** Null: these intents were not read. */
  readonly declared: {
    readonly verb: string;
    readonly type: string | null;
    readonly data_classes: readonly string[] | null;
  } | null;
  readonly count: number;
  /** Blocked or escalated. */
  readonly held: number;
}

/** At least one intent is read. */
const intents_max = 5_000;
const bytes_max = 8 * 1_048_576;

/** Reads the newest intents since `from` (RFC 3339), without test mode. */
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
