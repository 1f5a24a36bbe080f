import { limits, type OrgAuditRecord } from "@countersign/contract";
import { exportedDecision, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { actorsByName } from "../../store/audit/actors-by-name.ts";
import { type AuditFilter, readTrailPage, type StoredAudit } from "../../store/audit/audit.ts";
import { readTrailEntries, searchTrail, type TrailSearch } from "../../store/audit/search-trail.ts";
import { type ListedIntent, readListed } from "../../store/intents/intents.ts";
import { decodeCursor, encodeCursor, isSeq, type Page } from "../../store/rows/cursor.ts";
import { intentRecord } from "../intents/read-intents.ts";
import type { Runtime } from "../runtime.ts";
import { type Caller, shownActor } from "../shared/caller.ts";
import { storableTime } from "../shared/storable-time.ts";

/** Filters of the trail. Those of `AuditFilter` have indexes; each other one makes a search. */
export interface TrailFilter extends AuditFilter, Omit<TrailSearch, "actors"> {
  /** A part of the name of a person or key, or of a person's address. */
  readonly by?: string | undefined;
}

export interface TrailPage {
  readonly rows: readonly OrgAuditRecord[];
  /** The next page begins before this record. Null: this is the last one. */
  readonly next: number | null;
  /** The time up to which a search read, if it stopped before the page was full; else null. */
  readonly searched_to: string | null;
}

/** Lists the organization's audit trail, newest first. Faults: invalid_request (cursor, or too many actors match). */
export async function listAudit(
  { db }: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  filter: TrailFilter,
  limit: number,
  cursor: string | undefined,
): Promise<Page<OrgAuditRecord> & { readonly searched_to?: string }> {
  const before = decodeCursor(cursor, isSeq);
  const place = before === null ? null : Number(before);
  const read = (query: Query) => readTrail(query, org_id, storableFilter(filter), place, limit);
  // The trail before a record never changes, so a replica with that record suffices.
  const { rows, next, searched_to } = await (place === null
    ? db.tenant(org_id, read)
    : db.reading(org_id, { seq: place }, read));
  const next_cursor = next === null ? null : encodeCursor(String(next));
  return { rows: [...rows], next_cursor, ...(searched_to === null ? {} : { searched_to }) };
}

/** Returns the filter with times that the database can compare. */
export function storableFilter(filter: TrailFilter): TrailFilter {
  return { ...filter, from: storableTime(filter.from), to: storableTime(filter.to) };
}

/** Reads a page of the trail before the record `before`, newest first. Faults: invalid_request (too many actors match). */
export async function readTrail(
  query: Query,
  org_id: string,
  filter: TrailFilter,
  before: number | null,
  limit: number,
): Promise<TrailPage> {
  const { rows, next, searched_to } = await readRows(query, org_id, filter, before, limit);
  const { text } = filter;
  const intent_ids = new Set(rows.flatMap(({ intent_id }) => (intent_id === null ? [] : [intent_id])));
  const abouts = await readAbouts(query, org_id, intent_ids, text !== undefined);
  const shown = rows.map((row) => {
    const about = abouts.get(row.intent_id ?? "");
    return { ...row, actor: shownActor(row.actor), ...(about === undefined ? {} : { about }) };
  });
  return { rows: text === undefined ? shown : shown.filter((row) => shows(row, text)), next, searched_to };
}

export type About = NonNullable<OrgAuditRecord["about"]>;

/** `all`: also those of a page that is too long for one read. */
async function readAbouts(
  query: Query,
  org_id: string,
  intent_ids: ReadonlySet<string>,
  all: boolean,
): Promise<ReadonlyMap<string, About>> {
  const abouts = new Map<string, About>();
  const left = new Set(intent_ids);
  while (left.size > 0) {
    const { rows, more } = await readListed(query, org_id, [...left]);
    for (const row of rows) {
      left.delete(row.intent_id);
      if (isWhole(row)) abouts.set(row.intent_id, aboutOf(row));
    }
    if (!all || !more) break;
  }
  return abouts;
}

type Rows = Omit<TrailPage, "rows"> & { readonly rows: readonly StoredAudit<OrgAuditRecord>[] };
const nothing: Rows = { rows: [], next: null, searched_to: null };

async function readRows(
  query: Query,
  org_id: string,
  { by, ...filter }: TrailFilter,
  before: number | null,
  limit: number,
): Promise<Rows> {
  const named = by === undefined ? undefined : await actorsNamed(query, org_id, by);
  const { actor } = filter;
  const actors = actor === undefined ? named : named === undefined || named.includes(actor) ? [actor] : [];
  if (actors?.length === 0) return nothing;
  const { agent_id, action, policy, text } = filter;
  const searches = [agent_id, action, policy, text].some((each) => each !== undefined);
  if (!searches && (actors?.length ?? 0) < 2) {
    const { rows, more } = await readTrailPage(query, org_id, { ...filter, actor: actors?.[0] }, before, limit + 1);
    const kept = rows.slice(0, limit);
    return { rows: kept, next: more || rows.length > limit ? (kept.at(-1)?.seq ?? null) : null, searched_to: null };
  }
  const search = { ...filter, actors };
  const { seqs, next, searched_to } = await searchTrail(query, org_id, search, before, limit + 1);
  const { rows, more } = await readTrailEntries(query, org_id, search, seqs, before, limit + 1);
  const kept = rows.slice(0, limit);
  if (more || rows.length > limit) return { rows: kept, next: kept.at(-1)?.seq ?? null, searched_to: null };
  return { rows: kept, next, searched_to };
}

async function actorsNamed(query: Query, org_id: string, part: string): Promise<readonly string[]> {
  const { audit_actors_max: max } = limits;
  const actors = await actorsByName(query, org_id, part, max + 1);
  if (actors.length <= max) return actors;
  const message = `More than ${max} people and keys match. Give more of the name.`;
  throw faultAt("invalid_request", "/by", "not_allowed", message);
}

/** A changed intent must not hide the trail, which shows the change. */
export function isWhole({ intent }: { readonly intent: Partial<ListedIntent["intent"]> }): boolean {
  return intent.submitted !== undefined && intent.decided_as !== undefined;
}

export function aboutOf(row: ListedIntent): About {
  const { agent, action, decided_as, estimated_impact } = exportedDecision(row, intentRecord(row), row.decision).intent;
  return {
    agent_id: agent.id,
    type: decided_as.type,
    verb: action.verb,
    target: action.target?.identifier ?? null,
    amount_usd: estimated_impact?.financial_exposure_usd ?? null,
  };
}

/** A search must not reveal a redacted or masked value, so the answer itself must have the text. */
function shows({ type, data, about }: OrgAuditRecord, text: string): boolean {
  const has = (value: unknown) =>
    JSON.stringify(value).toLowerCase().includes(JSON.stringify(text).slice(1, -1).toLowerCase());
  const { agent_id, type: action_type, verb, target } = about ?? {};
  return (about !== undefined && has([agent_id, action_type, verb, target])) || (!ofDecision.has(type) && has(data));
}

/** Their data has no text of people, and `about` says what they are about. */
const ofDecision: ReadonlySet<string> = new Set([
  "submitted",
  "decided",
  "escalated",
  "joined",
  "resumed",
  "override_spent",
]);
