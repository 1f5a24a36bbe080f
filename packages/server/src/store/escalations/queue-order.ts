/** SQL for the orders and the narrower filters of the review queue. */
import type { escalationOrders } from "@countersign/contract";

export type EscalationOrder = (typeof escalationOrders)[number];

/** The last row of a page. */
export interface EscalationPlace {
  readonly escalation_id: string;
  /** The text of its value that the list is sorted by. Null: newest first. */
  readonly key: string | null;
}

/** Amounts are sorted in descending order, and reviews without an amount come last. */
const keys = {
  expires_at: { column: "expires_at", cast: "timestamptz" },
  created_at: { column: "created_at", cast: "timestamptz" },
  amount_usd: { column: "amount_usd", cast: "float8" },
  rule: { column: 'rule collate "C"', cast: "text" },
  tool: { column: 'tool collate "C"', cast: "text" },
  agent_id: { column: 'agent_id collate "C"', cast: "text" },
} as const satisfies Record<EscalationOrder, { readonly column: string; readonly cast: string }>;

const isoText = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Returns SQL: the order, the condition for rows after the place (`id`, `key`), and the text of a row's key. */
export function placesOf(order: EscalationOrder | undefined, id: string, key: string) {
  if (order === undefined)
    return { order: "escalation_id desc", where: `(escalation_id < ${id} and ${key}::text is null)`, key: "''" };
  const { column, cast } = keys[order];
  const given = `${key}::text::${cast}`;
  if (order === "amount_usd") {
    // An empty key: the reviews without an amount, which come last.
    const below = `amount_usd < nullif(${key}::text, '')::float8 or amount_usd = nullif(${key}::text, '')::float8 and escalation_id > ${id}`;
    const rest = `amount_usd is null and (${key}::text <> '' or escalation_id > ${id})`;
    return {
      order: "amount_usd desc nulls last, escalation_id",
      where: `(${below} or ${rest})`,
      key: "coalesce(amount_usd::text, '')",
    };
  }
  const text = cast === "timestamptz" ? isoText(column) : column;
  return { order: `${column}, escalation_id`, where: `(${column}, escalation_id) > (${given}, ${id})`, key: text };
}

/** Returns SQL for the filters of `narrowedBy`, whose first parameter has the number `first`. */
export function narrowed(first: number): string {
  const [rule, tool, least, most, from, to, fact, uncovered, snoozed, person, text, mine] = Array.from(
    { length: 12 },
    (_, at) => `$${first + at}`,
  );
  return `(${rule}::text is null or facets -> 'rules' ? ${rule})
    and (${tool}::text is null or tool = ${tool})
    and (${least}::float8 is null or amount_usd >= ${least}::float8)
    and (${most}::float8 is null or amount_usd <= ${most}::float8)
    and (${from}::timestamptz is null or created_at >= ${from}::timestamptz)
    and (${to}::timestamptz is null or created_at < ${to}::timestamptz)
    and (${fact}::text is null or facets -> 'missing_facts' ? ${fact})
    and (${uncovered}::text is null or facets ->> 'uncovered' is not null)
    and (${text}::text is null or strpos(words, lower(${text}::text)) > 0)
    and (${mine}::text is null or taken_by = ${person}::text
      or facets -> 'reviewers' @> jsonb_build_array(jsonb_build_object('type', 'user', 'id', ${person}::text)))
    and (${snoozed}::text is null or (${snoozed} = 'only') = exists (
      select from review_snoozes s where s.org_id = e.org_id and s.escalation_id = e.escalation_id
        and s.person = ${person}::text and s.until > statement_timestamp()))`;
}

export interface NarrowFilter {
  /** Name or id of a policy. */
  readonly rule?: string | undefined;
  readonly tool?: string | undefined;
  readonly amount_usd_min?: number | undefined;
  readonly amount_usd_max?: number | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly missing_fact?: string | undefined;
  readonly uncovered?: "true" | undefined;
  readonly snoozed?: "exclude" | "only" | undefined;
  readonly text?: string | undefined;
  readonly mine?: "only" | undefined;
}

/** `person`: the caller. */
export function narrowedBy(filter: NarrowFilter & { readonly person: string | null }): unknown[] {
  const { rule, tool, amount_usd_min, amount_usd_max, from, to, missing_fact, uncovered, snoozed, person, text, mine } =
    filter;
  return [
    ...[rule ?? null, tool ?? null, amount_usd_min ?? null, amount_usd_max ?? null],
    ...[
      from ?? null,
      to ?? null,
      missing_fact ?? null,
      uncovered ?? null,
      snoozed ?? null,
      person,
      text ?? null,
      mine ?? null,
    ],
  ];
}
