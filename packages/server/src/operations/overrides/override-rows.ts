import type { Override } from "@countersign/contract";
import { parseTimestampUs } from "@countersign/core";
import type { Ids } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import type { EventRow } from "../../store/commit/commit-writer-rows.ts";
import type { HeadChanges } from "../../store/organizations/heads.ts";
import { eventRow } from "../shared/event-row.ts";

export interface OverrideApproval {
  readonly at: string;
  readonly actor: string;
  readonly person: string;
  readonly reason: string;
}

export function overriddenChanges(
  ids: Ids,
  org_id: string,
  override: Override,
  { at, actor, person, reason }: OverrideApproval,
): HeadChanges {
  const { override_id, intent_id, status, policies_overridden } = override;
  const data = { override_id, status, person, reason, policies_overridden };
  const audit = [auditRow(ids, { intent_id, at, actor, type: "overridden", data })];
  if (status !== "active") return { audit };
  // Raises the policy epoch, because nodes look for overrides only if their state has any.
  return { raise: ["policy"], audit, events: [overriddenEvent(ids, org_id, override, at)] };
}

function overriddenEvent(ids: Ids, organization_id: string, override: Override, at: string): EventRow {
  const { override_id, intent_id, decision_id, agent_id, approved_by, approved_at, expires_at } = override;
  const { policies_overridden } = override;
  const data = { override_id, agent_id, approved_by, approved_at, expires_at, policies_overridden };
  const about = { organization_id, at_us: parseTimestampUs(at) ?? 0, intent_id, decision_id };
  return eventRow(ids, { event_type: "decision.overridden", ...about, data });
}
