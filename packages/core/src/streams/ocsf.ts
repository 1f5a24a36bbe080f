/**
 * Maps entries of the ledger to events of OCSF 1.8.0: the class API Activity (6003) with the profiles Date/Time,
 * Security Control, and for actions of agents AI Operation. The table of docs/how-to/streams.md describes the mapping.
 */
import { type OrgAuditRecord, product_version, type Reason } from "@countersign/contract";
import type { ExportedDecision } from "../exports/exported-decision.ts";
import { timestampUs } from "../time.ts";

const ocsf_version = "1.8.0";
const class_uid = 6_003;
const other_id = 99;

const activities = { 1: "Create", 2: "Read", 3: "Update", 4: "Delete" } as const;
type ActivityId = keyof typeof activities;

const severities = { 1: "Informational", 2: "Low", 3: "Medium", 4: "High" } as const;
type SeverityId = keyof typeof severities;

interface Terms {
  readonly org_id: string;
  /** The id of an agent without a name. */
  readonly unnamed_agent_id: string;
}

/** Returns the event of an entry. `decided`: the entry is this decision; null: any other change. */
export function ocsfEvent(record: OrgAuditRecord, decided: ExportedDecision | null, terms: Terms): object {
  const about = decided === null ? changeOf(record) : decisionOf(decided, terms);
  const { activity_id, activity_name, severity_id, profiles, ...members } = about;
  const at_us = timestampUs(record.at);
  return {
    activity_id,
    activity_name,
    category_name: "Application Activity",
    category_uid: 6,
    class_name: "API Activity",
    class_uid,
    type_name: `API Activity: ${activity_id === other_id ? "Other" : activity_name}`,
    type_uid: class_uid * 100 + activity_id,
    severity: severities[severity_id],
    severity_id,
    time: Math.floor(at_us / 1_000),
    time_dt: record.at,
    ...members,
    metadata: {
      version: ocsf_version,
      product: { name: "Countersign", vendor_name: "Countersign", version: product_version },
      profiles: ["datetime", ...profiles],
      log_name: "audit",
      tenant_uid: terms.org_id,
      uid: record.audit_id,
      sequence: record.seq,
      event_code: record.type,
      ...(record.intent_id === null ? {} : { correlation_uid: record.intent_id }),
    },
    unmapped: { ...unmappedOf(record), ...(about.unmapped ?? {}) },
  };
}

interface Mapped {
  readonly activity_id: ActivityId | typeof other_id;
  readonly activity_name: string;
  readonly severity_id: SeverityId;
  readonly profiles: readonly string[];
  readonly unmapped?: object;
  readonly [member: string]: unknown;
}

function unmappedOf({ entry, hash, root, data, type, erased }: OrgAuditRecord): object {
  const integrity = { ledger: { entry, hash, root }, ...(erased === undefined ? {} : { erased }) };
  // A decision's own record repeats what the event has.
  return type === "decided" ? integrity : { ...integrity, data };
}

const verbs: Readonly<Record<string, ActivityId>> = {
  create: 1,
  add: 1,
  insert: 1,
  read: 2,
  get: 2,
  list: 2,
  search: 2,
  update: 3,
  change: 3,
  delete: 4,
  remove: 4,
};

/** The activity of an action type such as `record.update`. Types that say none of the four are Other, with their name. */
function activityOf(type: string): Pick<Mapped, "activity_id" | "activity_name"> {
  const last = type.split(".").at(-1) ?? "";
  const activity_id = Object.hasOwn(verbs, last) ? verbs[last] : undefined;
  return activity_id === undefined
    ? { activity_id: other_id, activity_name: type }
    : { activity_id, activity_name: activities[activity_id] };
}

function decisionOf({ intent, decision }: ExportedDecision, { unnamed_agent_id }: Terms): Mapped {
  const { agent, action, decided_as, submitted_by } = intent;
  const name = agent.id === unnamed_agent_id ? {} : { app_name: agent.id };
  const submitter = submitted_by.id ?? "system";
  const { target } = action;
  const uid = target?.identifier;
  return {
    ...activityOf(decided_as.type),
    ...statusOf(decision),
    severity_id: severityOf(decision),
    profiles: ["security_control", "ai_operation"],
    message: `${decision.verdict}: ${decided_as.type} ${action.verb} by ${agent.id}`,
    actor: {
      ...name,
      user: {
        uid: submitter,
        type: submitted_by.type === "user" ? "User" : "Service",
        type_id: submitted_by.type === "user" ? 1 : 4,
      },
      ...(agent.session_id === undefined ? {} : { session: { uid: agent.session_id } }),
      ...(agent.on_behalf_of === undefined ? {} : { invoked_by: agent.on_behalf_of }),
    },
    api: {
      operation: action.verb,
      service: { name: "Countersign" },
      request: { uid: intent.intent_id },
      response: { message: decision.reasons[0]?.message ?? decision.verdict },
    },
    // The ledger has no network address.
    src_endpoint: { uid: submitter, name: agent.id },
    ...(uid === undefined
      ? {}
      : { resources: [{ uid, ...(target?.type === undefined ? {} : { type: target.type }) }] }),
    message_context: {
      ai_role: "Agent",
      ai_role_id: 4,
      application: { name: agent.id, ...(agent.framework === undefined ? {} : { type: agent.framework }) },
      ...(agent.session_id === undefined ? {} : { uid: agent.session_id }),
    },
    authorizations: decision.reasons.map(authorizationOf),
    unmapped: { intent, decision },
  };
}

function authorizationOf({ effect, policy, policy_id, version, message }: Reason): object {
  const about = { name: policy, desc: message, is_applied: effect !== "none" };
  return {
    decision: effect,
    policy: {
      ...about,
      ...(policy_id === null ? {} : { uid: policy_id }),
      ...(version === null ? {} : { version: String(version) }),
    },
  };
}

type Shown = ExportedDecision["decision"];

/** Decisions outside of live enforce nothing. */
const isLive = ({ pipeline_mode }: Shown) => pipeline_mode === "live";

/** Returns what the agent may do: an override or an approval of people changes the outcome, and the verdict stays. */
function effectOf(decision: Shown): keyof typeof outcomes {
  return isLive(decision) ? (decision.outcome ?? decision.verdict) : decision.verdict;
}

function severityOf(decision: Shown): SeverityId {
  const effect = effectOf(decision);
  if (effect === "block" && isLive(decision)) return 3;
  return effect === "block" || effect === "escalate" ? 2 : 1;
}

const success = { status: "Success", status_id: 1 };
const failure = { status: "Failure", status_id: 2 };

const outcomes = {
  approve: { ...success, action: "Allowed", action_id: 1, disposition: "Allowed", disposition_id: 1 },
  approve_modified: { ...success, action: "Modified", action_id: 4, disposition: "Corrected", disposition_id: 11 },
  block: { ...failure, action: "Denied", action_id: 2, disposition: "Blocked", disposition_id: 2 },
  escalate: {
    ...{ status: "Pending", status_id: other_id },
    ...{ action: "Held for review", action_id: other_id, disposition: "Delayed", disposition_id: 14 },
  },
} as const;

function statusOf(decision: Shown): object {
  const { verdict, escalation_id } = decision;
  const detail = { status_code: verdict, ...(escalation_id === null ? {} : { status_detail: escalation_id }) };
  if (isLive(decision)) return { ...outcomes[effectOf(decision)], ...detail };
  const observed = { action: "Observed", action_id: 3, disposition: "Logged", disposition_id: 17 };
  return { ...outcomes[verdict], ...observed, ...detail };
}

const changes: readonly (readonly [RegExp, ActivityId])[] = [
  [
    /_(?:created|registered|added|connected|invited|joined|placed|saved|kept|linked|configured|planned|stored|began)$|^granted$|^frozen$/,
    1,
  ],
  [/_(?:deleted|removed|revoked|released|ended|retired|unlinked)$|^unfrozen$/, 4],
];

/** Types that somebody should look at. Others are Informational. */
const severe: Readonly<Record<string, SeverityId>> = {
  contradicted: 4,
  frozen: 3,
  webhook_paused: 3,
  delivery_failed: 2,
  membrane_returned_to_shadow: 3,
  overridden: 2,
};

function changeOf({ type, actor, data, intent_id, about }: OrgAuditRecord): Mapped {
  const [, activity_id = 3] = changes.find(([pattern]) => pattern.test(type)) ?? [];
  const system = actor.type === "system";
  const uid = actor.id ?? "system";
  const user_type = system
    ? { type: "System", type_id: 3 }
    : actor.type === "user"
      ? { type: "User", type_id: 1 }
      : { type: "Service", type_id: 4 };
  const resource = intent_id ?? resourceIn(data);
  return {
    activity_id,
    activity_name: activities[activity_id],
    ...success,
    severity_id: severe[type] ?? 1,
    profiles: [],
    message: about === undefined ? type : `${type}: ${about.type} ${about.verb} by ${about.agent_id}`,
    actor: { user: { uid, ...user_type }, ...(system ? { app_name: "Countersign" } : {}) },
    api: {
      operation: type,
      service: { name: "Countersign" },
      ...(intent_id === null ? {} : { request: { uid: intent_id } }),
    },
    src_endpoint: { uid, ...(system ? { name: "Countersign" } : {}) },
    ...(resource === null ? {} : { resources: [{ uid: resource }] }),
  };
}

/** Returns the first id in the data, such as `webhook_id`. */
function resourceIn(data: Readonly<Record<string, unknown>>): string | null {
  for (const [name, value] of Object.entries(data))
    if (name.endsWith("_id") && typeof value === "string" && value !== "") return value;
  return null;
}
