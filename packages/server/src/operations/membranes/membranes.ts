import { isDeepStrictEqual } from "node:util";
import {
  factsFromDefault,
  foldName,
  limits,
  type Membrane,
  type MembraneChange,
  type MembraneInput,
} from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import {
  insertMembrane,
  readMembrane,
  readMembraneName,
  listMembranes as readPage,
  updateMembrane,
} from "../../store/membranes/membranes.ts";
import { lockHead, withHead } from "../../store/organizations/heads.ts";
import { decodeCursor, idPlace, type Page, page } from "../../store/rows/cursor.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { refusePackConflicts } from "../counters/refuse-conflicts.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import { refuseTooFew, refuseUnfitReviewers } from "../people/reviewers.ts";
import type { Runtime } from "../runtime.ts";
import { refuseAllProblems } from "../shared/all-problems.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";

const membranes_max = 100;
const isMembrane = idPlace("membrane");

export const membraneDefaults = {
  default_verdict: "approve",
  thresholds: { escalate_at: null, block_at: null },
  packs: [],
  rules_off: [],
  action_catalogue: [],
  facts_max_age: {},
  facts_from: factsFromDefault,
  agent_token: { required: false, on_invalid: "refuse", once: false },
  escalation: {
    timeout_seconds: limits.escalation_timeout_seconds_default,
    on_timeout: "block",
    reviewers: [{ type: "role", id: "reviewer" }],
    quorum: 1,
  },
  requested_move: null,
} as const satisfies Partial<Membrane>;

/**
 * Creates a membrane in shadow. Faults: already_exists (name, or 100 membranes), invalid_request (unknown pack, a
 * reviewer who may not decide, a repeated verb), idempotency_conflict.
 */
export function createMembrane(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "refuseUnknownPacks" | "refuseUnknownRules" | "packRules">,
  caller: Caller,
  input: MembraneInput,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<Membrane>> {
  const { org_id, actor } = caller;
  const terms = { operation: "create_membrane", idempotency_key, request: input };
  return idempotent(runtime, caller, terms, async (query) => {
    // Lock first, so that the check of reviewers stays valid until the commit.
    await lockHead(query, org_id);
    await refuseEnded(query, caller);
    const settings = withSettings(structuredClone(membraneDefaults), input);
    await refuseWrongSettings(runtime, query, org_id, input, membraneDefaults, settings);
    const at = formatTimestampUs(runtime.clock.now_us());
    const membrane: Membrane = {
      ...settings,
      name: input.name,
      membrane_id: runtime.ids.next("membrane"),
      status: "shadow",
      is_default: false,
      created_at: at,
    };
    const count = await refuseTakenName(query, org_id, membrane);
    if (count >= membranes_max) throw nameFault(`An organization has at most ${membranes_max} membranes.`);
    await insertMembrane(query, org_id, membrane);
    const entry = { intent_id: null, at, actor, type: "membrane_created", data: { membrane } } as const;
    await withHead(query, org_id, { raise: ["policy"], audit: [auditRow(runtime.ids, entry)] });
    return membrane;
  });
}

/** Lists membranes, newest first. A page of large ones is shorter than `limit`. Faults: invalid_request (cursor). */
export async function listMembranes(
  runtime: Pick<Runtime, "db">,
  { org_id }: Caller,
  limit: number,
  cursor: string | undefined,
): Promise<Page<Membrane>> {
  const before = decodeCursor(cursor, isMembrane);
  const { rows, more } = await runtime.db.tenant(org_id, (query) => readPage(query, org_id, before, limit + 1));
  return page(rows, limit, (row) => row.membrane_id, more);
}

export async function getMembrane(
  runtime: Pick<Runtime, "db">,
  caller: Caller,
  membrane_id: string,
): Promise<Membrane> {
  const membrane = await runtime.db.tenant(caller.org_id, (query) => readMembrane(query, caller.org_id, membrane_id));
  if (membrane === undefined) throw new Fault("not_found");
  return membrane;
}

/**
 * Replaces the given settings, and the given members of thresholds, agent_token and escalation. Faults: not_found,
 * already_exists (name), invalid_request (unknown pack, a reviewer who may not decide, a repeated verb).
 */
export function changeMembrane(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "refuseUnknownPacks" | "refuseUnknownRules" | "packRules">,
  caller: Caller,
  membrane_id: string,
  change: MembraneChange,
): Promise<Membrane> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  return runtime.db.tenant(org_id, async (query) => {
    await lockHead(query, org_id);
    await refuseEnded(query, caller);
    const before = await readMembrane(query, org_id, membrane_id);
    if (before === undefined) throw new Fault("not_found");
    const after = withSettings(before, change);
    await refuseWrongSettings(runtime, query, org_id, change, before, after);
    // An unchanged membrane must not make decisions stale.
    if (isDeepStrictEqual(after, before)) return before;
    await refuseTakenName(query, org_id, after);
    await updateMembrane(query, org_id, after, at);
    // Stores the settings completely, because past settings are reconstructed from these rows alone.
    const settings = Object.fromEntries(Object.entries(after).filter(([field]) => field in change));
    const data = { membrane_id, ...settings };
    const entry = auditRow(runtime.ids, { intent_id: null, at, actor, type: "membrane_changed", data });
    await withHead(query, org_id, { raise: ["policy"], audit: [entry] });
    return { ...after, requested_move: null };
  });
}

function withSettings<S extends Pick<Membrane, "thresholds" | "action_catalogue" | "agent_token" | "escalation">>(
  settings: S,
  given: MembraneChange,
) {
  return {
    ...settings,
    ...given,
    thresholds: { ...settings.thresholds, ...given.thresholds },
    action_catalogue:
      given.action_catalogue?.map((entry) => ({ ...entry, data_classes: entry.data_classes ?? [] })) ??
      settings.action_catalogue,
    agent_token: { ...settings.agent_token, ...given.agent_token },
    escalation: { ...settings.escalation, ...given.escalation },
  };
}

function refuseWrongSettings(
  runtime: Pick<Runtime, "refuseUnknownPacks" | "refuseUnknownRules" | "packRules">,
  query: Query,
  org_id: string,
  { packs = [], rules_off = [], action_catalogue = [], escalation: { reviewers, quorum } = {} }: MembraneChange,
  before: Pick<Membrane, "packs" | "rules_off">,
  after: Pick<Membrane, "packs" | "rules_off" | "escalation">,
): Promise<void> {
  return refuseAllProblems([
    () => runtime.refuseUnknownPacks(packs),
    () => runtime.refuseUnknownRules(rules_off),
    () => refuseVerbsTwice(action_catalogue),
    () => (reviewers === undefined && quorum === undefined ? undefined : refuseUnfit(query, org_id, after.escalation)),
    () => refusePackConflicts(runtime, query, org_id, before, after),
  ]);
}

/** Refuses a repeated verb, because only one entry would apply. Faults: invalid_request naming each. */
function refuseVerbsTwice(catalogue: readonly { readonly verb: string }[]): void {
  const first = new Map<string, number>();
  const details = catalogue.flatMap(({ verb }, index) => {
    const name = foldName(verb);
    const before = first.get(name);
    first.set(name, before ?? index);
    const message = `Entry ${before} is for this verb too, whatever the case. Keep one of them.`;
    return before === undefined ? [] : [{ path: `/action_catalogue/${index}/verb`, code: "not_allowed", message }];
  });
  if (details.length > 0) throw new Fault("invalid_request", { details });
}

async function refuseUnfit(query: Query, org_id: string, terms: Membrane["escalation"]): Promise<void> {
  const people = await refuseUnfitReviewers(query, org_id, terms.reviewers, "/escalation/reviewers");
  refuseTooFew(people, [], terms.quorum, "/escalation/quorum");
}

async function refuseTakenName(query: Query, org_id: string, { name, membrane_id }: Membrane): Promise<number> {
  const { count, holder } = await readMembraneName(query, org_id, name, membrane_id);
  if (holder !== null) throw nameFault("Another membrane of your organization has this name.");
  return count;
}

function nameFault(message: string): Fault {
  return faultAt("already_exists", "/name", "already_exists", message);
}
