/** Reads what a decision depends on besides membranes, policies and stored documents. */
import { type Freezes, freezesOf, type Parents, type StandingFreeze } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { parentsOf, registered_parents } from "../agents/agents.ts";
import { settingsTypes } from "../audit/audit.ts";
import type { ContextSourceRow } from "../context/context-source.ts";
import { standing_freezes } from "../freezes/freezes.ts";
import { newestHead } from "../rows/newest-head.ts";

export interface DecidingHead {
  readonly policy_epoch: number;
  readonly context_epoch: number;
  /**
   * The last audit record about membranes and policies. With the policy epoch it identifies the rules; see `Epochs`.
   */
  readonly settings_audit_id: string | null;
  /** Event types of active webhooks of the whole organization, without webhooks of one escalation. */
  readonly heard: ReadonlySet<string>;
  readonly overrides: boolean;
  readonly grants: boolean;
  readonly freezes: Freezes;
  readonly parents: Parents;
  readonly source: ContextSourceRow | null;
  /** `<scope> <subject>` of every stored document, as stored and folded. Null: more than `subjects_max`. */
  readonly subjects: ReadonlySet<string> | null;
}

type Row = Omit<DecidingHead, "source" | "subjects" | "heard" | "freezes" | "parents"> &
  ContextSourceRow & {
    readonly has_source: boolean;
    readonly subjects: readonly (readonly [string, string])[] | null;
    readonly heard: readonly string[] | null;
    readonly freezes: readonly StandingFreeze[] | null;
    readonly parents: readonly (readonly [string, string])[] | null;
  };

/**
 * Reads the head without its lock, in one statement: while facts are pushed it runs before every decision, and each
 * round trip more makes a stale decision more likely.
 */
export async function readDecidingHead(
  query: Query,
  org_id: string,
  subjects_max: number,
): Promise<DecidingHead | undefined> {
  const [row] = await query<Row>(
    `select h.policy_epoch, h.context_epoch,
       (select json_agg(distinct t.event_type) from webhooks w cross join lateral json_array_elements_text(w.event_types) t(event_type)
        where h.webhooks > 0 and w.org_id = $1 and w.active and w.escalation_id is null) as heard,
       (select audit_id from ledger where org_id = $1 and type in (${settingsTypes}) order by seq desc limit 1) as settings_audit_id,
       exists (select from overrides where org_id = $1 and status = 'active') as overrides,
       exists (select from grants where org_id = $1 and revoked_at is null) as grants,
       ${standing_freezes} as freezes, ${registered_parents} as parents,
       s.org_id is not null as has_source, s.url, s.timeout_ms, s.secret_sealed, s.created_at,
       (select json_agg(json_build_array(name, folded_name)) from (
          select scope || ' ' || subject as name, scope || ' ' || folded as folded_name
          from stored_context where org_id = $1 limit $2::integer + 1) as listed) as subjects
     from ${newestHead("$1")} h left join context_sources s on s.org_id = h.org_id`,
    [org_id, subjects_max],
  );
  if (row === undefined) return undefined;
  const {
    has_source,
    url,
    timeout_ms,
    secret_sealed,
    created_at,
    subjects,
    heard,
    freezes,
    parents: registered,
    ...head
  } = row;
  const parents = parentsOf(registered);
  const listed = subjects ?? [];
  return {
    ...head,
    heard: new Set(heard),
    freezes: freezesOf(freezes ?? [], parents),
    parents,
    source: has_source ? { url, timeout_ms, secret_sealed, created_at } : null,
    subjects: listed.length > subjects_max ? null : new Set(listed.flat()),
  };
}
