import { type IntentSubmission, idPrefixes } from "@countersign/contract";
import {
  type BlockedBy,
  type ContextSource,
  Fault,
  type MergedFacts,
  type Present,
  parseTimestampUs,
  type StoredForAncestors,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type ContextFor, type ContextSubject, readContextFor } from "../../store/context/stored-context.ts";
import type { StoredIntent } from "../../store/intents/intents.ts";
import { readLineageState } from "../../store/keys/keys.ts";
import { isPerson } from "../../store/people/people.ts";
import type { OrgState } from "./node-services.ts";

/**
 * Reads the state at `at` (RFC 3339, database clock) for deciding an action again. Exact only under the head's lock and
 * if `rules` are in force.
 */
export async function readPresent(
  query: Query,
  org_id: string,
  { intent, facts, lineage_id }: Pick<StoredIntent, "intent" | "facts" | "lineage_id">,
  rules: OrgState,
  at: string,
): Promise<Present> {
  const now_us = parseTimestampUs(at) ?? 0;
  const stored = await readContextFor(query, org_id, subjectsOf(intent.submitted));
  const submitter = await submitterState(query, org_id, lineage_id);
  const for_ancestors = await storedForAncestors(facts, now_us, (subject) => readContextFor(query, org_id, [subject]));
  return { rules, now_us, stored: storedSources(stored, now_us), for_ancestors, submitter };
}

export async function storedForAncestors(
  { ancestors = [] }: MergedFacts,
  now_us: number,
  read: (subject: ContextSubject) => Promise<readonly ContextFor[]>,
): Promise<StoredForAncestors> {
  const found = new Map<string, readonly ContextSource[]>();
  for (const { id } of ancestors) found.set(id, storedSources(await read({ scope: "agent", agent_id: id }), now_us));
  return found;
}

export function blockedNowFault(blocked: readonly BlockedBy[]): Fault {
  const details = blocked.map(({ policy, message }) => ({ path: "", code: "not_allowed", policy, message }));
  return new Fault("blocked_now", { details });
}

export function subjectsOf({ agent, action }: IntentSubmission["intent"]): ContextSubject[] {
  const subjects: ContextSubject[] = [{ scope: "org" }, { scope: "agent", agent_id: agent.id }];
  const { type, identifier } = action.target ?? {};
  if (type !== undefined && identifier !== undefined) subjects.push({ scope: "target", type, identifier });
  return subjects;
}

export function storedSources(stored: readonly ContextFor[], now_us: number): ContextSource[] {
  return stored.map(({ scope, document, received_at, respelled }) => ({
    source: scope,
    respelled,
    document,
    received_us: parseTimestampUs(received_at) ?? now_us,
  }));
}

/** Returns why a submitter may not submit now; null: it may. In open mode (`lineage_id` null) nobody can be revoked. */
async function submitterState(query: Query, org_id: string, lineage_id: string | null): Promise<Present["submitter"]> {
  if (lineage_id === null) return null;
  if (lineage_id.startsWith(idPrefixes.user)) return (await isPerson(query, org_id, lineage_id)) ? null : "removed";
  const state = await readLineageState(query, org_id, lineage_id);
  return state === "valid" ? null : state;
}
