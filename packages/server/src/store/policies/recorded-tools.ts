import type { Query } from "../../ports.ts";
import { earliestId } from "../intents/intents.ts";

export interface RecordedTools {
  readonly membrane_id: string;
  readonly verb: string;
  readonly type: string | null;
  readonly count: number;
  readonly parameters: readonly string[];
}

/** At least one intent is read. An editor waits for this after each change, so it reads fewer than the coverage. */
const intents_max = 2_000;
const bytes_max = 4 * 1_048_576;

/** Reads the tools of the newest intents since `from` (RFC 3339), with the names of their parameters. */
export function readRecordedTools(query: Query, org_id: string, from: string): Promise<RecordedTools[]> {
  return query<RecordedTools>(
    `select membrane_id, verb, type, count(distinct intent_id)::integer as count,
       coalesce(array_agg(distinct name) filter (where name is not null), '{}') as parameters
     from (select intent_id, membrane_id, intent #>> '{submitted,action,verb}' as verb, intent #>> '{submitted,action,type}' as type,
         intent #> '{submitted,payload,content}' as content
       from (select intent_id, membrane_id, intent, row_number() over newest as place,
           sum(pg_column_size(intent)) over newest - pg_column_size(intent) as bytes_before
         from (select intent_id, membrane_id, intent from intents
           where org_id = $1 and created_at >= $2::timestamptz and intent_id >= $3
           order by intent_id desc limit ${intents_max}) asked
         window newest as (order by intent_id desc)) weighed
       where place = 1 or bytes_before < ${bytes_max}) read
       left join lateral json_object_keys(case when json_typeof(content) = 'object' then content end) as name on true
     group by membrane_id, verb, type`,
    [org_id, from, earliestId({ from })],
  );
}
