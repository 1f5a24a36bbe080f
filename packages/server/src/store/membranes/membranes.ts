import { limits, type Membrane, type RequestedMove } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { type BoundedPage, readBounded } from "../rows/bounded-page.ts";

const columns = `membrane_id, name, status, is_default, default_verdict,
  json_build_object('escalate_at', escalate_at, 'block_at', block_at) as thresholds,
  packs, rules_off, action_catalogue, facts_max_age, facts_from, agent_token, escalation, created_at,
  case when (requested_move ->> 'requested_at')::timestamptz + interval '${limits.membrane_request_hours} hours' > clock_timestamp()
    then requested_move end as requested_move`;

/** Returns all membranes: at most 100, of up to a MiB each. */
export function readMembranes(query: Query, org_id: string): Promise<Membrane[]> {
  return query<Membrane>(`select ${columns} from membranes where org_id = $1 order by is_default desc, membrane_id`, [
    org_id,
  ]);
}

/** Returns membranes older than `before`, newest first; fewer if their catalogues are large. */
export function listMembranes(
  query: Query,
  org_id: string,
  before: string | null,
  limit: number,
): Promise<BoundedPage<Membrane>> {
  return readBounded<Membrane>(
    query,
    {
      columns,
      bytes: "octet_length(action_catalogue::text)",
      from: "from membranes where org_id = $1 and ($2::text is null or membrane_id < $2)",
      order: "membrane_id desc",
      limit: "$3::integer",
    },
    [org_id, before, limit],
  );
}

/** Returns the number of membranes, and another membrane with the name. */
export async function readMembraneName(
  query: Query,
  org_id: string,
  name: string,
  membrane_id: string,
): Promise<{ readonly count: number; readonly holder: string | null }> {
  const [row] = await query<{ count: number; holder: string | null }>(
    `select count(*)::integer as count, max(membrane_id) filter (where name = $2 and membrane_id <> $3) as holder
     from membranes where org_id = $1`,
    [org_id, name, membrane_id],
  );
  return row ?? { count: 0, holder: null };
}

export async function readMembrane(query: Query, org_id: string, membrane_id: string): Promise<Membrane | undefined> {
  const rows = await query<Membrane>(`select ${columns} from membranes where org_id = $1 and membrane_id = $2`, [
    org_id,
    membrane_id,
  ]);
  return rows[0];
}

/** Returns the membrane that decides on submissions without one. Every organization has it. */
export async function readDefaultMembrane(query: Query, org_id: string): Promise<string> {
  const [row] = await query<{ membrane_id: string }>(
    "select membrane_id from membranes where org_id = $1 and is_default",
    [org_id],
  );
  if (row === undefined) throw new Error(`organization ${org_id} has no default membrane`);
  return row.membrane_id;
}

export async function readExistingMembranes(query: Query, org_id: string, ids: readonly string[]): Promise<string[]> {
  const rows = await query<{ membrane_id: string }>(
    "select membrane_id from membranes where org_id = $1 and membrane_id = any($2::text[])",
    [org_id, ids],
  );
  return rows.map(({ membrane_id }) => membrane_id);
}

export async function insertMembrane(query: Query, org_id: string, membrane: Membrane): Promise<void> {
  await query(
    `insert into membranes (org_id, membrane_id, name, status, is_default, default_verdict, escalate_at, block_at,
       packs, rules_off, action_catalogue, facts_max_age, facts_from, agent_token, escalation, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7::double precision, $8::double precision, $9::json, $10::json, $11::json, $12::json,
       $13::json, $14::json, $15::json, $16::timestamptz, $16::timestamptz)`,
    [
      org_id,
      membrane.membrane_id,
      membrane.name,
      membrane.status,
      membrane.is_default,
      ...settingsOf(membrane),
      membrane.created_at,
    ],
  );
}

/** Stores a move that waits for a second person, in place of an earlier one. Null: ends the earlier one. */
export async function requestMove(
  query: Query,
  org_id: string,
  membrane_id: string,
  requested: RequestedMove | null,
): Promise<void> {
  await query("update membranes set requested_move = $3::json where org_id = $1 and membrane_id = $2", [
    ...[org_id, membrane_id, requested === null ? null : JSON.stringify(requested)],
  ]);
}

/** Ends a requested move, because the first person did not ask for what is there now. */
export async function updateMembrane(query: Query, org_id: string, membrane: Membrane, at: string): Promise<void> {
  await query(
    `update membranes set name = $3, status = $4, default_verdict = $5, escalate_at = $6::double precision,
       block_at = $7::double precision, packs = $8::json, rules_off = $9::json, action_catalogue = $10::json,
       facts_max_age = $11::json, facts_from = $12::json, agent_token = $13::json, escalation = $14::json,
       updated_at = $15::timestamptz, requested_move = null
     where org_id = $1 and membrane_id = $2`,
    [org_id, membrane.membrane_id, membrane.name, membrane.status, ...settingsOf(membrane), at],
  );
}

function settingsOf(membrane: Membrane): unknown[] {
  return [
    membrane.default_verdict,
    membrane.thresholds.escalate_at,
    membrane.thresholds.block_at,
    JSON.stringify(membrane.packs),
    JSON.stringify(membrane.rules_off),
    JSON.stringify(membrane.action_catalogue),
    JSON.stringify(membrane.facts_max_age),
    JSON.stringify(membrane.facts_from),
    JSON.stringify(membrane.agent_token),
    JSON.stringify(membrane.escalation),
  ];
}
