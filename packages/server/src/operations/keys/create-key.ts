import {
  type ApiKeyCreated,
  type ApiKeyInput,
  type KeyBindings,
  limits,
  onlySubmits,
  type ProblemCode,
  secret_mask,
} from "@countersign/contract";
import {
  Fault,
  type FaultDetail,
  formatTimestampUs,
  hashApiKey,
  newApiKey,
  parseTimestampUs,
  us_per_day,
  us_per_second,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { insertKey } from "../../store/keys/keys.ts";
import { lockHead, withHead } from "../../store/organizations/heads.ts";
import { databaseNowUs } from "../../store/rows/database-now.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import { type Caller, command_line_person } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";
import { checkedBindings } from "./key-bindings.ts";

type Needs = Pick<Runtime, "ids">;
type Creator = Pick<Caller, "org_id" | "key_id" | "user_id" | "session_id" | "lineage_id" | "actor">;

export interface KeyToCreate {
  readonly org_id: string;
  readonly name: string | null;
  readonly environment: "live" | "shadow" | "test";
  readonly scope: "org" | "agent";
  readonly role: ApiKeyCreated["role"];
  readonly agent_id: string | null;
  readonly bindings?: KeyBindings | null;
  readonly expires_us?: number;
  readonly lifetime_days?: number;
  /** key_id or user_id; null: quickstart, command line or open mode. */
  readonly created_by: string | null;
  /** Absent: the person of the maker. Without a maker, the key is a person of its own. */
  readonly person?: string;
  readonly actor: string;
}

/**
 * Creates a key in the caller's transaction (tenant or system scope) and raises the epoch of keys. Only the answer
 * contains the key's text. The first key ends open mode. Source: spec §4 and §5.
 */
export async function insertNewKey(runtime: Needs, query: Query, key: KeyToCreate): Promise<ApiKeyCreated> {
  const now_us = await databaseNowUs(query);
  const { lifetime_days = limits.api_key_lifetime_days_default } = key;
  const expires_us = key.expires_us ?? now_us + lifetime_days * us_per_day;
  const key_id = runtime.ids.next("api_key");
  const api_key = newApiKey(key.environment, key.scope, runtime.ids.secret(limits.api_key_random_chars_min));
  const { org_id, name, environment, scope, role, agent_id, bindings = null, created_by, actor } = key;
  const shown = { key_id, name, environment, scope, role, agent_id, bindings };
  const times = { created_at: formatTimestampUs(now_us), expires_at: formatTimestampUs(expires_us) };
  const named = key.person === undefined || key.person === command_line_person ? {} : { person: key.person };
  const data = { ...shown, ...named, expires_at: times.expires_at };
  await withHead(query, org_id, async () => {
    await insertKey(query, {
      ...shown,
      ...times,
      org_id,
      key_sha256: hashApiKey(api_key),
      lineage_id: key_id,
      rate_limits: null,
      created_by,
      person: key.person ?? null,
      lifetime_seconds: Math.max(1, Math.ceil((expires_us - now_us) / us_per_second)),
      rotated_from: null,
    });
    const entry = { intent_id: null, at: times.created_at, actor, type: "key_created", data } as const;
    return { raise: ["auth"], audit: [auditRow(runtime.ids, entry)] };
  });
  return { ...shown, ...times, api_key };
}

/**
 * Creates a key for the caller's organization. A replay shows `***` instead of its text. `owner`: only from the command
 * line. Faults: invalid_request, invalid_binding, idempotency_conflict, those of refuseEnded.
 */
export async function createKey(
  runtime: Needs & Pick<Runtime, "db" | "clock">,
  caller: Creator,
  input: ApiKeyInput,
  idempotency_key?: string,
  owner?: Pick<KeyToCreate, "created_by" | "person">,
): Promise<OnceAnswer<ApiKeyCreated>> {
  const terms = { operation: "createApiKey", idempotency_key, request: input };
  const work = async (query: Query): Promise<ApiKeyCreated> => {
    await lockHead(query, caller.org_id);
    await refuseEnded(query, caller);
    // Checked for the first request only, because the expiry may have passed before a repetition.
    const key = keyToCreate(caller, input, await databaseNowUs(query));
    return insertNewKey(runtime, query, {
      ...key,
      ...owner,
      bindings: await checkedBindings(query, key, input.bindings),
    });
  };
  return idempotent(runtime, caller, terms, work, (created) => ({ ...created, api_key: secret_mask }));
}

function keyToCreate(caller: Creator, input: ApiKeyInput, now_us: number): KeyToCreate {
  const { scope = "org", role = "agent", agent_id, expires_at, expires_in_days } = input;
  const expires_us = expires_at === undefined ? undefined : (parseTimestampUs(expires_at) ?? undefined);
  const details = [...scopeProblems(scope, role, agent_id), ...lifetimeProblems(input, expires_us, now_us)];
  if (details.length > 0) throw new Fault("invalid_request", { details });
  return {
    org_id: caller.org_id,
    name: input.name ?? null,
    environment: input.environment ?? "live",
    scope,
    role,
    agent_id: agent_id ?? null,
    ...(expires_us === undefined ? {} : { expires_us }),
    ...(expires_in_days === undefined ? {} : { lifetime_days: expires_in_days }),
    created_by: caller.key_id ?? caller.user_id,
    ...(caller.lineage_id === null ? { person: command_line_person } : {}),
    actor: caller.actor,
  };
}

function scopeProblems(
  scope: KeyToCreate["scope"],
  role: KeyToCreate["role"],
  agent_id: string | undefined,
): FaultDetail[] {
  if (scope === "org") {
    const message = "Only a key of scope agent is bound to an agent: remove this, or set scope to agent.";
    return agent_id === undefined ? [] : [problem("/agent_id", "not_allowed", message)];
  }
  return [
    ...(agent_id === undefined ? [problem("/agent_id", "required", "Name the agent of a key of scope agent.")] : []),
    ...(onlySubmits(role) ? [] : [problem("/role", "not_allowed", "A key of scope agent has the role agent or host.")]),
  ];
}

function lifetimeProblems(
  { expires_at, expires_in_days }: ApiKeyInput,
  expires_us: number | undefined,
  now_us: number,
): FaultDetail[] {
  if (expires_at === undefined) return [];
  const problems: FaultDetail[] = [];
  if (expires_in_days !== undefined)
    problems.push(problem("/expires_in_days", "not_allowed", "Send expires_at or expires_in_days, not both."));
  const at = (code: ProblemCode, message: string) => problems.push(problem("/expires_at", code, message));
  if (expires_us === undefined) at("bad_format", "Send an RFC 3339 date-time with a time zone.");
  else if (expires_us <= now_us) at("out_of_range", "Send a time in the future.");
  else if (expires_us > now_us + limits.api_key_lifetime_days_max * us_per_day)
    at("out_of_range", `Send a time within ${limits.api_key_lifetime_days_max} days.`);
  return problems;
}

function problem(path: string, code: ProblemCode, message: string): FaultDetail {
  return { path, code, message };
}
