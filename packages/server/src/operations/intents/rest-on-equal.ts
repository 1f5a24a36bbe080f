/** Finds a review of an equal action on which a held action can rest. See docs/decisions/0037. */
import type { Decision, IntentSubmission } from "@countersign/contract";
import {
  type CountedDemand,
  CountReads,
  type CountSource,
  covers,
  type Decided,
  type DecideInput,
  decide,
  decideAgain,
  formatTimestampUs,
  newDemands,
  sha256Hex,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { IdempotencyRow } from "../../store/commit/commit-writer-rows.ts";
import { type EqualReview, readEqualReviews } from "../../store/escalations/approvals.ts";
import { readReview } from "../../store/escalations/escalations.ts";
import { readIntent, type StoredIntent } from "../../store/intents/intents.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import type { OrgState } from "../shared/node-services.ts";
import { storedForAncestors, storedSources, subjectsOf } from "../shared/present.ts";

export interface Joined extends InPlace {
  readonly kind: "joined";
  readonly escalation_id: string;
}

export interface Resumed extends InPlace {
  readonly kind: "resumed";
  readonly escalation_id: string;
  readonly from: string;
  /** True: the action needs no claim, or names the approval, so it spends the approval at once. */
  readonly spends: boolean;
  readonly resolution: Partial<Decision>;
}

/** The decision about an action that takes the place of an equal one, whose entries in counters it does not read. */
interface InPlace {
  readonly decided: Decided;
  /** Null: the policies have no counters, or the decision read all entries. */
  readonly reads: CountReads | null;
}

export interface HeldAction {
  /** Counters without the entries of the action whose place this one takes. Undefined: the policies have none. */
  readonly countsWithout?: (intent_id: string) => CountSource;
  readonly caller: Caller;
  readonly state: OrgState;
  readonly submission: IntentSubmission;
  readonly membrane_id: string;
  /** See `Proposal`. */
  readonly approval: string | null | undefined;
  readonly idempotency: IdempotencyRow | null;
  readonly input: DecideInput;
  /** Holds or blocks the action. */
  readonly decided: Decided;
  readonly fingerprint: string;
}

/** `approval`: see `Proposal`. */
export function mayUse(approval: string | null | undefined, id: string): boolean {
  return approval === undefined || approval === id;
}

/** Prefix of keys that clients generate for retries. Such keys do not distinguish two equal actions. */
const repeat_prefix = "retry-";

/** Returns the hash of the Idempotency-Key, to compare equal actions; undefined: no key names the action. */
export function namingKey(idempotency: IdempotencyRow | null): string | undefined {
  if (idempotency === null || idempotency.idempotency_key.startsWith(repeat_prefix)) return undefined;
  return sha256Hex(idempotency.idempotency_key);
}

/**
 * Returns an unused approval, else a pending review that nobody waits for. Null: people must be asked. The commit
 * checks an approval again under the head's lock.
 */
export async function restOnEqual(runtime: Pick<Runtime, "db">, held: HeldAction): Promise<Joined | Resumed | null> {
  const { caller, input, fingerprint } = held;
  const { org_id, lineage_id } = caller;
  return runtime.db.tenant(org_id, async (query) => {
    const reviews = await readEqualReviews(query, org_id, { fingerprint, mode: input.mode, lineage_id });
    for (const review of reviews) {
      const rest = await restOn(query, held, review);
      if (rest !== null) return rest;
    }
    return null;
  });
}

async function restOn(query: Query, held: HeldAction, equal: EqualReview): Promise<Joined | Resumed | null> {
  const { org_id } = held.caller;
  const { escalation_id, from, approved } = equal;
  if (approved && !mayUse(held.approval, escalation_id)) return null;
  const action = await readIntent(query, org_id, equal.intent_id);
  const review = await readReview(query, org_id, escalation_id);
  if (action === undefined || review === undefined) throw new Error(`${escalation_id} is not stored with its action`);
  if (action.decision.claim !== "required" || !covers(action.intent.submitted, held.submission.intent)) return null;
  const in_place = heldInPlace(held, from);
  if (in_place === null) return null;
  const rested = { ...held, decided: in_place.decided };
  if (!approved) return joins(rested, action, review.demands) ? { kind: "joined", escalation_id, ...in_place } : null;
  const { resolution } = action;
  if (resolution === null || !(await passesAgain(rested, action, review.demands, from))) return null;
  const spends = held.submission.claim !== "required" || held.approval !== undefined;
  return { kind: "resumed", escalation_id, from, spends, resolution, ...in_place };
}

/** Returns the decision that holds the action in the place of an equal one; null: none does. */
function heldInPlace({ input, decided, countsWithout }: HeldAction, from: string): InPlace | null {
  if (countsWithout !== undefined) {
    const reads = new CountReads(countsWithout(from));
    const again = decide({ ...input, counts: reads });
    if (again.content.verdict === "escalate" && reads.missing.length === 0) return { decided: again, reads };
  }
  return decided.content.verdict === "escalate" ? { decided, reads: null } : null;
}

function joins(held: HeldAction, action: StoredIntent, counted: readonly CountedDemand[]): boolean {
  const { submission, idempotency, decided } = held;
  if (submission.claim !== "required") return false;
  const [first, second] = [action.intent.named_by, namingKey(idempotency)];
  if (first !== undefined && second !== undefined && first !== second) return false;
  return newDemands(action, decided.escalation?.demands ?? [], counted).length === 0;
}

async function passesAgain(
  { submission, membrane_id, state, input, decided, countsWithout }: HeldAction,
  action: StoredIntent,
  counted: readonly CountedDemand[],
  from: string,
): Promise<boolean> {
  const { now_us } = input;
  const { modifications, modified_content } = { ...action.decision, ...action.resolution };
  const { withheld, masked } = decided;
  const again = decideAgain(
    {
      ...{ intent_id: action.intent_id, membrane_id, mode: input.mode, created_at: formatTimestampUs(now_us) },
      intent: { submitted: submission.intent, attested: input.attested, withheld, masked },
      facts: input.facts,
      decision: decided.content,
      resolution: null,
    },
    { modifications, modified_content, human_reviewed: true },
    {
      ...{ rules: state, now_us, submitter: null },
      ...(countsWithout === undefined ? {} : { counts: countsWithout(from) }),
      stored: storedSources(await state.storedContext(subjectsOf(submission.intent)), now_us),
      for_ancestors: await storedForAncestors(input.facts, now_us, (subject) => state.storedContext([subject])),
    },
  );
  return again.blocked.length === 0 && newDemands(action, again.demands, counted).length === 0;
}
