import { type Intake, type IntakeInput, limits, type OrganizationSettings } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";

export interface Organization {
  readonly org_id: string;
  readonly name: string;
  /** Null: open mode, or created on the command line without one. */
  readonly email: string | null;
  readonly description: string;
  readonly plan_id: string;
  /** Null: unlimited. */
  readonly included_actions: number | null;
  readonly created_at: string;
}

/** Returns false if the id exists. `createHead` writes the head row. */
export async function insertOrganization(query: Query, organization: Organization): Promise<boolean> {
  const rows = await query(
    `insert into organizations (org_id, name, email, description, plan_id, included_actions, created_at, state_recorded)
     values ($1, $2, $3, $4, $5, $6::bigint, $7::timestamptz, true) on conflict (org_id) do nothing returning true as inserted`,
    [
      organization.org_id,
      organization.name,
      organization.email,
      organization.description,
      organization.plan_id,
      organization.included_actions,
      organization.created_at,
    ],
  );
  return rows.length > 0;
}

export interface ListedOrganization extends Organization {
  readonly hard_limit: number | null;
  readonly usage_period: string;
  readonly usage_used: number;
}

/** Oldest first. System scope. */
export function listOrganizations(query: Query): Promise<ListedOrganization[]> {
  return query<ListedOrganization>(
    `select o.org_id, o.name, o.email, o.description, o.plan_id, o.included_actions, o.created_at,
       h.hard_limit, h.usage_period, h.usage_used
     from organizations o cross join lateral ${newestHead("o.org_id")} h order by o.created_at, o.org_id`,
  );
}

/**
 * Counts missing organizations to which keys or people refer. Then the database was restored from an incomplete dump:
 * `pg_dump --enable-row-security` silently omits hidden rows. Reads at most `names_max`; null: all. System scope.
 */
export async function countLostOrganizations(query: Query, names_max: number | null): Promise<number> {
  const named = await query<{ org_id: string }>(
    "(select org_id from key_index limit $1) union (select org_id from person_index limit $1)",
    [names_max],
  );
  // A distributed database does not join replicated with distributed tables.
  const [row] = await query<{ there: number }>(
    "select count(*)::integer as there from organizations where org_id = any($1::text[])",
    [named.map(({ org_id }) => org_id)],
  );
  return named.length - (row?.there ?? 0);
}

export async function readOrganizationName(query: Query, org_id: string): Promise<string> {
  const [row] = await query<{ name: string }>("select name from organizations where org_id = $1", [org_id]);
  if (row === undefined) throw new Error(`organization ${org_id} does not exist`);
  return row.name;
}

export async function readOrganizationSettings(query: Query, org_id: string): Promise<OrganizationSettings> {
  const [row] = await query<OrganizationSettings>(
    `select org_id, name, unfreeze_needs_second_person, go_live_needs_ready, go_live_needs_name, go_live_needs_second_person,
       case when go_live_alone_requested_at + interval '${limits.membrane_request_hours} hours' > clock_timestamp()
         then go_live_alone_requested_by end as go_live_alone_requested_by, second_factor_required, reviewer_figures
     from organizations where org_id = $1`,
    [org_id],
  );
  if (row === undefined) throw new Error(`organization ${org_id} does not exist`);
  return row;
}

/** `requested_at`: the time of a new request to go live alone; null: there is no new one. */
export async function writeOrganizationSettings(
  query: Query,
  settings: OrganizationSettings,
  requested_at: string | null,
): Promise<void> {
  await query(
    `update organizations set unfreeze_needs_second_person = $2::boolean, reviewer_figures = $3, go_live_needs_ready = $4::boolean,
       go_live_needs_name = $5::boolean, go_live_needs_second_person = $6::boolean, go_live_alone_requested_by = $7::text,
       go_live_alone_requested_at = case when $7::text is not null then coalesce($8::timestamptz, go_live_alone_requested_at) end,
       second_factor_required = $9::boolean
     where org_id = $1`,
    [
      settings.org_id,
      settings.unfreeze_needs_second_person,
      settings.reviewer_figures,
      settings.go_live_needs_ready,
      settings.go_live_needs_name,
      settings.go_live_needs_second_person,
      settings.go_live_alone_requested_by,
      requested_at,
      settings.second_factor_required,
    ],
  );
}

/** Returns false if the organization does not exist. The hard limit is in the head. */
export async function setPlan(
  query: Query,
  org_id: string,
  plan_id: string,
  included_actions: number | null,
): Promise<boolean> {
  const rows = await query(
    "update organizations set plan_id = $2, included_actions = $3::bigint where org_id = $1 returning true as changed",
    [org_id, plan_id, included_actions],
  );
  return rows.length > 0;
}

export async function insertIntake(
  query: Query,
  request: IntakeInput,
  answer: Intake,
  created_at: string,
): Promise<void> {
  await query(
    "insert into onboarding_intakes (intake_id, request, response, created_at) values ($1, $2::json, $3::json, $4::timestamptz)",
    [answer.intake_id, JSON.stringify(request), JSON.stringify(answer), created_at],
  );
}

/** Undefined: no such intake, or another organization has it. */
export async function takeIntake(query: Query, intake_id: string, org_id: string): Promise<Intake | undefined> {
  const [row] = await query<{ response: Intake }>(
    "update onboarding_intakes set org_id = $2 where intake_id = $1 and org_id is null returning response",
    [intake_id, org_id],
  );
  return row?.response;
}
