import { limits, type PaceFigures } from "@countersign/contract";
import type { Query } from "../../ports.ts";

export interface CountedRulings {
  readonly week: Omit<PaceFigures, "approval_share">;
  readonly month: Omit<PaceFigures, "approval_share">;
}

export interface CountedReviewers {
  readonly team: CountedRulings;
  readonly people: readonly (CountedRulings & { readonly person: string; readonly email: string | null })[];
  /** False: more rulings exist than were counted. */
  readonly is_complete: boolean;
}

/** SQL that counts the rulings that meet `where`. Null median: none of the reviews was shown before its ruling. */
const figures = (where: string) => `json_build_object(
    'rulings', count(*) filter (where ${where}), 'approvals', count(*) filter (where approved and ${where}),
    'fast', count(*) filter (where fast and ${where}),
    'median_seconds', round((percentile_cont(0.5) within group (order by seconds) filter (where ${where}))::numeric, 1)::float8)`;

const none = { rulings: 0, approvals: 0, fast: 0, median_seconds: null };

/** Counts the newest rulings in the 30 days before `as_of`. `only`: of this person. */
export async function readPaceFigures(
  query: Query,
  org_id: string,
  as_of: string,
  only: string | null,
): Promise<CountedReviewers> {
  const rows = await query<CountedRulings & { person: string | null; email: string | null; counted: number }>(
    `with recent as (
       select person, approved, fast, ruled_at > $2::timestamptz - interval '7 days' as in_week,
         case when shown_at <= ruled_at then extract(epoch from ruled_at - shown_at) end as seconds
       from reviewer_times
       where org_id = $1 and ruled_at > $2::timestamptz - interval '30 days' and ($3::text is null or person = $3)
       order by ruled_at desc limit $4::integer)
     select c.*, p.email from (
       select person, count(*)::integer as counted, ${figures("in_week")} as week, ${figures("true")} as month
       from recent group by grouping sets ((person), ())
       order by person is null desc, counted desc, person limit $5::integer + 1) as c
     left join people p on p.org_id = $1 and p.user_id = c.person
     order by c.person is null desc, c.counted desc, c.person`,
    [org_id, as_of, only, limits.pace_rulings_max, limits.people_per_organization_max],
  );
  const [all] = rows;
  const people = rows.flatMap(({ person, email, week, month }) =>
    person === null ? [] : [{ person, email, week, month }],
  );
  const { week = none, month = none, counted = 0 } = all ?? {};
  return { team: { week, month }, people, is_complete: counted < limits.pace_rulings_max };
}
