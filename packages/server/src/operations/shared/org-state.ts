/**
 * Caches what decisions of an organization need, with the epochs at which it was read.
 *
 * The cache may be stale: a commit refuses a decision if one of its epochs was raised. The caller then forgets the
 * state and decides again. So a change on any node applies to every later commit, without polling.
 */

import type { Membrane, TokenIssuer } from "@countersign/contract";
import { isEnforced, type PolicySet, type PolicySource } from "@countersign/core";
import { LRUCache } from "lru-cache";
import type { Db, Query } from "../../ports.ts";
import {
  type ContextFor,
  type ContextSubject,
  foldedKey,
  readContextFor,
  subjectKey,
} from "../../store/context/stored-context.ts";
import { readDecidingHead } from "../../store/intents/deciding-head.ts";
import { readMembranes } from "../../store/membranes/membranes.ts";
import { readStateEpochs } from "../../store/organizations/heads.ts";
import { readDocumentsInForce, readPoliciesInForce } from "../../store/policies/policies.ts";
import { readPartialRollouts, readRegistered } from "../../store/rollouts/rollouts.ts";
import { readTokenIssuers } from "../../store/tokens/token-issuers.ts";
import { holdsShareOf, shareOf } from "../rollouts/shown-rollout.ts";
import { AgentsWithFacts } from "./agents-with-facts.ts";
import type { DecidingMembrane, OrgState, OrgStates } from "./node-services.ts";
import { readAgain } from "./read-again.ts";

const organizations_max = 2_000;
/** Longest life of a cached state. Bounds memory; correctness does not depend on it. */
const max_age_ms = 10 * 60_000;
/** For membranes and policies of all organizations. Each counts for at most half, so that it can be kept. */
const state_bytes_max = 128 * 1_048_576;
const compiled_bytes = 60;
/**
 * Approximate further bytes of a set with own policies; `placed_bytes` per rule. Pack policies are compiled once for
 * all.
 */
const set_bytes = 32_768;
const placed_bytes = 1_024;
/** For stored documents of all organizations. Values take several times the size of their text. */
const documents_bytes_max = 32 * 1_048_576;
/** Counted for a subject without a document, and per document besides its text. */
const entry_bytes = 256;
/** Above this number of stored documents, subjects are read one by one. */
const listed_subjects_max = 10_000;

type PolicySetOf = (membrane: Membrane, own: readonly PolicySource[]) => Promise<PolicySet>;

type Documents = LRUCache<string, readonly ContextFor[]>;

interface Kept {
  readonly documents: Documents;
  readonly prefix: string;
  readonly agents: AgentsWithFacts;
}

interface OwnPolicies {
  readonly key: string;
  readonly sources: readonly PolicySource[];
  readonly chars: number;
}

interface Rules {
  readonly policy_epoch: number;
  readonly settings_audit_id: string | null;
  readonly own: OwnPolicies;
  readonly membranes: readonly Membrane[];
  /** By id; the default membrane also under "". */
  readonly deciding: ReadonlyMap<string, DecidingMembrane>;
  readonly bytes: number;
}

const noPolicies: OwnPolicies = { key: "[]", sources: [], chars: 0 };

/** `bytes_max`: for tests only. */
export function createOrgStates(db: Db, policySetOf: PolicySetOf, bytes_max: number = state_bytes_max): OrgStates {
  const countedFor = (bytes: number) => Math.min(bytes, Math.floor(bytes_max / 2));
  // Kept for later states of the same policy epoch, because facts are pushed more often than rules change.
  const rules = new LRUCache<string, Rules>({
    ...{ max: organizations_max, maxSize: bytes_max, ttl: max_age_ms },
    sizeCalculation: ({ bytes }) => countedFor(bytes),
  });
  const documents: Documents = new LRUCache({
    maxSize: documents_bytes_max,
    sizeCalculation: (found) => found.reduce((sum, { bytes }) => sum + bytes, entry_bytes),
  });
  const agents = new AgentsWithFacts();
  let states_read = 0;
  const terms = { max: organizations_max, ttl: max_age_ms, maxSize: bytes_max };
  const states = new LRUCache<string, Promise<OrgState>>(terms);
  const resolved = new WeakMap<OrgState, Promise<OrgState>>();

  function load(org_id: string): Promise<OrgState> {
    const reading = readOrgState(db, org_id, policySetOf, rules, { documents, prefix: `${states_read++} `, agents });
    const loading = reading.then(({ state }) => state);
    states.set(org_id, loading, { size: entry_bytes });
    reading.then(
      ({ state, bytes }) => {
        resolved.set(state, loading);
        if (states.get(org_id) !== loading) return;
        states.delete(org_id);
        states.set(org_id, loading, { size: countedFor(bytes) });
      },
      () => states.get(org_id) === loading && states.delete(org_id),
    );
    return loading;
  }

  const forget = (org_id: string, state: OrgState): void => {
    if (states.get(org_id) === resolved.get(state)) states.delete(org_id);
  };
  return {
    get: (org_id) => states.get(org_id) ?? load(org_id),
    forget,
    async isOutdated(org_id, state) {
      const outdated = await readAgain(db, org_id, async (query) => {
        const now = await readStateEpochs(query, org_id);
        if (now.policy_epoch !== state.policy_epoch) return true;
        return now.context_epoch !== state.context_epoch && !(await state.isInForce(query));
      });
      if (outdated) forget(org_id, state);
      return outdated;
    },
  };
}

async function readOrgState(
  db: Db,
  org_id: string,
  policySetOf: PolicySetOf,
  known: LRUCache<string, Rules>,
  kept: Kept,
): Promise<{ readonly state: OrgState; readonly bytes: number }> {
  const kept_rules = known.get(org_id);
  const { read, ...head } = await readAgain(db, org_id, async (query) => {
    // Read epochs first. Later reads can only be newer, which the commit finds stale.
    const head = await readDecidingHead(query, org_id, listed_subjects_max);
    if (head === undefined) throw new Error(`organization ${org_id} has no head row`);
    if (head.policy_epoch === kept_rules?.policy_epoch && head.settings_audit_id === kept_rules.settings_audit_id)
      return { ...head, read: null };
    const membranes = await readMembranes(query, org_id);
    const own = await readOwnPolicies(query, org_id, kept_rules?.own);
    return { ...head, read: { membranes, own, outside: await readOutside(query, org_id) } };
  });
  const rules = read === null ? (kept_rules as Rules) : await compileRules(head, read, policySetOf);
  if (rules !== kept_rules) known.set(org_id, rules);
  const { membranes, own, deciding } = rules;
  const { subjects, settings_audit_id: _, ...deciding_head } = head;
  let issuers: Promise<readonly TokenIssuer[]> | null = null;
  const readIssuers = () => readAgain(db, org_id, (query) => readTokenIssuers(query, org_id));
  const state: OrgState = {
    ...deciding_head,
    membrane: (id) => deciding.get(id ?? ""),
    membranes: [...new Set(deciding.values())],
    isInForce: async (query) =>
      JSON.stringify(await readPoliciesInForce(query, org_id)) === own.key &&
      JSON.stringify(await readMembranes(query, org_id)) === JSON.stringify(membranes),
    // Read at the first token, because a key set may have 64 KiB. A failed read is not cached.
    tokenIssuers: () =>
      (issuers ??= readIssuers().catch((error: unknown) => {
        issuers = null;
        throw error;
      })),
    storedContext: contextReader(db, org_id, subjects, kept),
    agentsWithFacts: () => kept.agents.of(org_id, subjects),
  };
  return { state, bytes: rules.bytes };
}

interface Read {
  readonly membranes: readonly Membrane[];
  readonly own: OwnPolicies;
  /** By membrane_id. */
  readonly outside: ReadonlyMap<string, OutsideOfRollout>;
}

type OutsideOfRollout = Pick<DecidingMembrane, "unenforced" | "unheld">;

const nobody: ReadonlySet<string> = new Set();
const withoutRollout: OutsideOfRollout = { unenforced: nobody, unheld: nobody };

/** Returns the agents that rollouts do not enforce. */
async function readOutside(query: Query, org_id: string): Promise<Read["outside"]> {
  const rollouts = await readPartialRollouts(query, org_id);
  if (rollouts.length === 0) return new Map();
  const registered = await readRegistered(query, org_id);
  return new Map(
    rollouts.map((row) => {
      const beyond = (share: number) => new Set(registered.filter((agent) => !isEnforced(agent, row.salt, share)));
      const unenforced = beyond(shareOf(row));
      return [
        row.membrane_id,
        { unenforced, unheld: row.holds_stage === null ? unenforced : beyond(holdsShareOf(row)) },
      ];
    }),
  );
}

function agentsBytes(outside: Read["outside"]): number {
  return [...outside.values()].reduce((sum, { unenforced, unheld }) => {
    return sum + (unenforced.size + (unheld === unenforced ? 0 : unheld.size)) * entry_bytes;
  }, 0);
}

async function compileRules(
  { policy_epoch, settings_audit_id }: Pick<Rules, "policy_epoch" | "settings_audit_id">,
  { membranes, own, outside }: Read,
  policySetOf: PolicySetOf,
): Promise<Rules> {
  const deciding = new Map<string, DecidingMembrane>();
  for (const membrane of membranes) {
    const policySet = await policySetOf(membrane, own.sources);
    const each = { membrane, policySet, ...(outside.get(membrane.membrane_id) ?? withoutRollout) };
    deciding.set(membrane.membrane_id, each);
    if (membrane.is_default) deciding.set("", each);
  }
  const sets = new Set(Array.from(deciding.values(), ({ policySet }) => policySet));
  const bytes = membranes.reduce(addCatalogue, entry_bytes) + setsBytes(own, sets) + agentsBytes(outside);
  return { policy_epoch, settings_audit_id, own, membranes, deciding, bytes };
}

function setsBytes(own: OwnPolicies, sets: ReadonlySet<PolicySet>): number {
  if (own.sources.length === 0) return 0;
  let bytes = 0;
  for (const { live, shadow } of sets) {
    bytes += set_bytes + (live.placed.length + shadow.placed.length) * placed_bytes + own.chars * compiled_bytes;
  }
  return bytes;
}

function addCatalogue(sum: number, { action_catalogue }: Membrane): number {
  let bytes = sum + entry_bytes;
  for (const { verb, data_classes } of action_catalogue) {
    bytes += entry_bytes + verb.length;
    for (const each of data_classes) bytes += each.length;
  }
  return bytes;
}

/** Versions never change, so documents are read only if other versions are in force. */
async function readOwnPolicies(query: Query, org_id: string, kept: OwnPolicies | undefined): Promise<OwnPolicies> {
  const inForce = await readPoliciesInForce(query, org_id);
  if (inForce.length === 0) return noPolicies;
  if (kept?.key === JSON.stringify(inForce)) return kept;
  const sources = await readDocumentsInForce(query, org_id);
  const chars = sources.reduce((sum, { document }) => sum + JSON.stringify(document).length, 0);
  return { key: JSON.stringify(sources.map(({ document: _, ...each }) => each)), sources, chars };
}

/**
 * Caches documents and their absence while the state lives and there is room. `subjects` have a document; null: too
 * many to list. Most targets have none, and reading each took half of a decision's time. Concurrent readers share a
 * read, because after a push hundreds of decisions need the same document.
 */
function contextReader(
  db: Db,
  org_id: string,
  subjects: ReadonlySet<string> | null,
  { documents, prefix }: Kept,
): OrgState["storedContext"] {
  const reading = new Map<string, Promise<readonly ContextFor[]>>();

  function read(missing: readonly ContextSubject[]): Promise<readonly ContextFor[]>[] {
    const rows = readAgain(db, org_id, (query) => readContextFor(query, org_id, missing));
    return missing.map((subject) => {
      const key = keyOf(subject);
      const one = rows
        .then((found) => {
          const about = found.filter(({ scope }) => scope === subject.scope);
          documents.set(prefix + key, about);
          return about;
        })
        .finally(() => reading.delete(key));
      reading.set(key, one);
      return one;
    });
  }

  return async (asked) => {
    const found: ContextFor[] = [];
    const awaited: Promise<readonly ContextFor[]>[] = [];
    const missing: ContextSubject[] = [];
    if (subjects?.size === 0) return found;
    for (const subject of asked) {
      const key = keyOf(subject);
      if (subjects !== null && !subjects.has(key) && !subjects.has(`${subject.scope} ${foldedKey(subject)}`)) continue;
      const entry = documents.get(prefix + key);
      const shared = reading.get(key);
      if (entry !== undefined) found.push(...entry);
      else if (shared !== undefined) awaited.push(shared);
      else missing.push(subject);
    }
    if (missing.length > 0) awaited.push(...read(missing));
    if (awaited.length === 0) return found;
    return [...found, ...(await Promise.all(awaited)).flat()];
  };
}

function keyOf(subject: ContextSubject): string {
  return `${subject.scope} ${subjectKey(subject)}`;
}
