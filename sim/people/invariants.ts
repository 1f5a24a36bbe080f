import type { Escalation } from "@countersign/contract";
import { verifyIn } from "../../packages/server/src/operations/audit/verify-organization.ts";
import type { Db } from "../../packages/server/src/ports.ts";
import { InvariantBroken } from "../invariants.ts";
import { unexplained } from "../unexplained.ts";

export interface Memory {
  readonly escalations: { readonly escalation_id: string; readonly membrane: number }[];
  readonly blocked: { readonly intent_id: string; readonly action: number; readonly mode: "live" | "test" }[];
  readonly overrides: {
    readonly override_id: string;
    readonly action: number;
    readonly mode: "live" | "test";
    /** Why the override approves nothing; null: it is valid. `waiting`: for the second person. */
    over: "waiting" | "consumed" | "revoked" | "expired" | null;
  }[];
  readonly closed: Map<string, string>;
  readonly votes: Map<string, number>;
}

interface Row {
  readonly escalation_id: string;
  readonly status: string;
  readonly text: string;
  readonly intent_status: string;
  readonly resolution: { readonly outcome: string; readonly escalation_status: string } | null;
  readonly audit: readonly string[];
  /** Type and escalation_status of each. */
  readonly events: readonly string[];
}

const closingAudit: Readonly<Record<string, string>> = {
  decided: "reviewed",
  timed_out: "timed_out",
  cancelled: "cancelled",
};

/** Throws InvariantBroken. */
export async function checkPeople(
  db: Db,
  org_id: string,
  memory: Memory,
  submitter: string,
  creator: string,
): Promise<void> {
  const { reviews, overrides, approvals, verified } = await db.tenant(org_id, async (query) => {
    await query("set transaction isolation level repeatable read");
    return {
      reviews: await query<Row>(
        `select e.escalation_id, e.status, e.record::text as text, i.status as intent_status, i.resolution,
           array(select type from audit a where a.org_id = e.org_id and a.intent_id = e.intent_id order by seq) as audit,
           array(select event_type || ' ' || (body ->> 'escalation_status') from events v where v.org_id = e.org_id and v.escalation_id = e.escalation_id) as events
         from escalations e join intents i on i.org_id = e.org_id and i.intent_id = e.intent_id where e.org_id = $1`,
        [org_id],
      ),
      overrides: await query<{ override_id: string; status: string; consumed_by: string | null }>(
        "select override_id, status, consumed_by from overrides where org_id = $1",
        [org_id],
      ),
      approvals: await query<{ override_id: string; intent_id: string }>(
        `select decision ->> 'human_override_id' as override_id, intent_id from intents
         where org_id = $1 and decision ->> 'human_override_id' is not null`,
        [org_id],
      ),
      verified: await verifyIn(query, org_id),
    };
  });
  const stored = new Map(reviews.map((row) => [row.escalation_id, row]));
  for (const { escalation_id } of memory.escalations)
    demand(stored.has(escalation_id), "an acknowledged escalation is lost");
  for (const row of reviews) checkReview(row, memory, [submitter, creator]);
  const wrong = unexplained(verified);
  demand(wrong === null, `the audit trail is broken, or does not explain the tables: ${wrong}`);

  for (const { override_id, status, consumed_by } of overrides) {
    const by = approvals.filter((each) => each.override_id === override_id).map((each) => each.intent_id);
    demand(by.length <= 1, `an override approved ${by.length} times`);
    demand((status === "consumed") === (by.length === 1), `an override is ${status} and approved ${by.length} times`);
    demand(consumed_by === (by[0] ?? null), "an override names another intent than it approved");
  }
  const kept = new Map(overrides.map((row) => [row.override_id, row.status]));
  for (const { override_id, over } of memory.overrides) {
    demand(kept.has(override_id), "an acknowledged override is lost");
    if (over === "revoked") demand(kept.get(override_id) === "revoked", "a revoked override came back");
  }
}

/** A ledger row about freezes, or about an action that a freeze must stop. */
interface LedgerRow {
  readonly seq: number;
  readonly type: string;
  readonly intent_id: string | null;
  readonly verdict: string | null;
  readonly data: { readonly kind?: string; readonly mode?: string; readonly outcome?: string; readonly by?: string };
}

/** Checks that nothing passed a freeze, which here stops all actions. Only `admin` may approve under one. */
export async function checkFreezes(db: Db, org_id: string, admin: string): Promise<void> {
  const { rows, open } = await db.tenant(org_id, async (query) => ({
    rows: await query<LedgerRow>(
      "select seq, type, intent_id, verdict, data from ledger where org_id = $1 order by seq",
      [org_id],
    ),
    open: await query(
      `select from escalations e where e.org_id = $1 and e.status = 'pending' and e.expires_at > clock_timestamp() and exists (
         select from freezes f where f.org_id = $1 and f.mode = 'block' and f.closed_up_to is null)`,
      [org_id],
    ),
  }));
  demand(open.length === 0, "reviews of frozen targets are open although the ledger says that they were closed");
  const frozen = new Map<string, { readonly mode: string; readonly since: number }>();
  const decided = new Map<string | null, number>();
  /** Under freezes: the person whose vote approved an action. */
  const approved_by = new Map<string | null, string | undefined>();
  for (const { seq, type, intent_id, verdict, data } of rows) {
    const { kind = "", mode = "", outcome, by } = data;
    const before = frozen.get(kind);
    if (type === "unfrozen") frozen.delete(kind);
    if (type === "frozen" && before?.mode !== mode) frozen.set(kind, { mode, since: seq });
    if (type === "decided") decided.set(intent_id, seq);
    if (frozen.size === 0) continue;
    demand(verdict !== "approve" && verdict !== "approve_modified", "an action was approved although it is frozen");
    demand(type !== "overridden", "a block was overridden although it is frozen");
    if (type === "timed_out") demand(outcome === "block", "a time limit approved what is frozen");
    if (type === "reviewed" && outcome !== "block") approved_by.set(intent_id, by);
    if (type !== "claimed" && (type !== "reviewed" || outcome === "block")) continue;
    const opened = decided.get(intent_id) ?? 0;
    const held = Array.from(frozen.values()).every((each) => each.mode === "escalate" && each.since < opened);
    const through = held && approved_by.get(intent_id) === admin;
    demand(through, `what is frozen was ${type === "claimed" ? "claimed" : "approved by a review"}`);
  }
}

function checkReview(row: Row, memory: Memory, selves: readonly string[]): void {
  const record = JSON.parse(row.text) as Escalation;
  const { escalation_id, status } = row;
  const before = memory.closed.get(escalation_id);
  demand(before === undefined || before === row.text, "a closed review moved");
  demand(record.status === status, "a record differs from its row");
  const closings = row.audit.filter((type) => Object.values(closingAudit).includes(type));
  const told = row.events.filter((event) => !event.endsWith(" pending"));
  const told_votes = row.events.filter((event) => event.startsWith("escalation.decided "));
  const count = (types: readonly string[], type: string) => types.filter((each) => each === type).length;
  demand(
    count(row.audit, "reassigned") === count(row.events, "escalation.reassigned pending"),
    "a hand-over has no event, or an event no hand-over",
  );
  demand(
    count(row.audit, "voted") >= (memory.votes.get(escalation_id) ?? 0),
    "an acknowledged vote is not in the trail",
  );
  demand(record.votes.length <= count(row.audit, "voted"), "a vote is not in the trail");
  demand(told_votes.length === count(row.audit, "voted"), "a vote was not reported, or reported twice");
  demand(new Set(record.votes.map((each) => each.reviewer)).size === record.votes.length, "one person voted twice");
  demand(!record.votes.some((each) => selves.includes(each.reviewer)), "the submitter or its creator voted");
  if (status === "pending") {
    demand(row.intent_status === "pending" && row.resolution === null, "an open review has a final decision");
    demand(closings.length === 0 && told.length === 0, "an open review was reported as closed");
    return;
  }
  memory.closed.set(escalation_id, row.text);
  demand(row.intent_status === "final" && row.resolution !== null, "a closed review holds its action");
  demand(row.resolution?.outcome === record.resolution?.outcome, "the decision differs from the review's result");
  demand(row.resolution?.escalation_status === status, "the decision has another escalation status");
  demand(
    closings.length === 1 && closings[0] === closingAudit[status],
    `a review that is ${status} has ${closings.length} closings`,
  );
  demand(
    told.length === 1 && told[0] === `escalation.${status} ${status}`,
    `a review that is ${status} was reported ${told.length} times`,
  );
  if (status === "decided" && record.resolution?.outcome !== "block")
    demand(
      record.quorum.approvals === record.quorum.required && record.quorum.rejections === 0,
      "the quorum was not met",
    );
}

function demand(holds: boolean, message: string): asserts holds {
  if (!holds) throw new InvariantBroken(message);
}
