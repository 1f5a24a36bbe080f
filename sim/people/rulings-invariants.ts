import type { Decision, Escalation } from "@countersign/contract";
import type { Db } from "../../packages/server/src/ports.ts";
import { InvariantBroken } from "../invariants.ts";
import type { Cast, PolicyName } from "./cast.ts";

interface Entry {
  readonly type: string;
  readonly intent_id: string | null;
  readonly escalation_id: string | null;
  readonly override_id: string | null;
  readonly data: {
    readonly escalation_id?: string;
    readonly handed_to?: string;
    readonly name?: PolicyName;
    readonly mode?: "live" | "shadow";
    readonly outcome?: string;
    readonly person?: string;
    readonly status?: string;
    readonly override_id?: string;
    readonly nonce_sha256?: string;
    readonly policies_overridden?: readonly string[];
  } & Partial<Pick<Decision, "verdict" | "reasons" | "claim" | "resumed_from">>;
}

interface Stored {
  readonly entries: readonly Entry[];
  /** By escalation_id. */
  readonly reviews: ReadonlyMap<string, Escalation>;
  /** By override_id: names of the overridden rules. */
  readonly lifts: ReadonlyMap<string, readonly string[]>;
  readonly claims: readonly { readonly intent_id: string; readonly nonce_sha256: string }[];
}

interface Passed {
  readonly by: "decision" | "reviewers" | "time_limit";
  readonly lifts: readonly string[];
}

/** Replays the ledger, which is in commit order. Throws InvariantBroken. */
export async function checkRulings(db: Db, { org_id, policies, people }: Cast): Promise<void> {
  const names = new Map<string, string>(policies.map(({ policy_id, name }) => [policy_id, name]));
  const stored = await readStored(db, org_id, names);
  const admin = people.find(({ role }) => role === "admin")?.key_id ?? "";
  const replay = new Replay(stored, new Set(policies.flatMap(({ name, live }) => (live ? [name] : []))), admin);
  for (const entry of stored.entries) replay.take(entry);
  for (const review of stored.reviews.values()) checkPanels(review);
  const told = stored.entries.filter(({ type }) => type === "claimed");
  demand(
    stored.claims.length === told.length,
    `${stored.claims.length} claims are stored, ${told.length} are in the trail`,
  );
  for (const { intent_id, nonce_sha256 } of stored.claims)
    demand(
      told.some((entry) => entry.intent_id === intent_id && entry.data.nonce_sha256 === nonce_sha256),
      "a claim differs from the one in the trail",
    );
}

function readStored(db: Db, org_id: string, names: ReadonlyMap<string, string>): Promise<Stored> {
  return db.tenant(org_id, async (query) => {
    await query("set transaction isolation level repeatable read");
    const all = <Row extends object>(sql: string) => query<Row>(`${sql} where org_id = $1 order by 1`, [org_id]);
    const reviews = await all<{ record: Escalation }>("select escalation_id, record from escalations");
    const overrides = await all<{ override_id: string; lifts: string[] }>("select override_id, lifts from overrides");
    return {
      entries: await all<Entry>("select seq, type, intent_id, escalation_id, override_id, data from ledger"),
      reviews: new Map(reviews.map(({ record }) => [record.escalation_id, record])),
      lifts: new Map(overrides.map((each) => [each.override_id, each.lifts.map((id) => names.get(id) ?? id)])),
      claims: await all("select intent_id, encode(nonce_sha256, 'hex') as nonce_sha256 from claims"),
    };
  });
}

class Replay {
  readonly #stored: Stored;
  readonly #live: Set<PolicyName>;
  readonly #admin: string;
  readonly #reasons = new Map<string | null, ReadonlySet<string>>();
  readonly #passed = new Map<string | null, Passed>();
  readonly #claimed = new Set<string | null>();
  /** By intent_id: the review of an action. Actions may share one. */
  readonly #reviews = new Map<string | null, string>();
  /** By escalation_id: how the review approved its actions. */
  readonly #approvals = new Map<string, Passed>();
  /** By escalation_id: the action that was claimed, or that took over the approval without a claim. */
  readonly #users = new Map<string, string | null>();
  readonly #revoked = new Set<string>();
  /** By escalation_id: the only action that may use the approval. */
  readonly #holders = new Map<string, string | null>();
  /** By escalation_id. */
  readonly #reassigned = new Set<string | undefined>();
  readonly #first = new Map<string | null, string | undefined>();
  /** By override_id: the person who gave the first of two approvals. */
  readonly #seconded = new Map<string | undefined, string | undefined>();

  constructor(stored: Stored, live: Set<PolicyName>, admin: string) {
    this.#stored = stored;
    this.#live = live;
    this.#admin = admin;
  }

  take(entry: Entry): void {
    const { type, intent_id, data } = entry;
    const passes = data.outcome !== "block";
    if (type === "policy_activated" && data.name !== undefined) {
      if (data.mode === "live") this.#live.add(data.name);
      else this.#live.delete(data.name);
    } else if (type === "decided") this.#decided(entry);
    else if (type === "reassigned") this.#reassigned.add(this.#reviews.get(intent_id));
    else if (type === "voted" && passes && !this.#first.has(intent_id)) this.#first.set(intent_id, data.person);
    else if (type === "reviewed" && passes) this.#reviewed(intent_id);
    else if (type === "timed_out" && passes) this.#timedOut(intent_id);
    else if (type === "overridden") this.#overridden(entry);
    else if (type === "claimed") this.#claim(intent_id);
    else if (type === "approval_handed_on")
      demand(
        this.#holders.get(data.escalation_id ?? "") === data.handed_to,
        "an approval went to another action than it says",
      );
    else if (type === "approval_revoked") this.#revoked.add(data.escalation_id ?? "");
  }

  #decided({ intent_id, escalation_id, override_id, data }: Entry): void {
    const { verdict, reasons = [] } = data;
    const named = new Set(reasons.map(({ policy }) => policy));
    const lifts = override_id === null ? [] : (this.#stored.lifts.get(override_id) ?? []);
    for (const name of this.#live)
      demand(named.has(name) || lifts.includes(name), `a decision does not know ${name}, which was in force`);
    this.#reasons.set(intent_id, named);
    if (escalation_id !== null) this.#reviews.set(intent_id, escalation_id);
    if (verdict === "approve" && escalation_id !== null) this.#resumed(intent_id, escalation_id, data);
    else if (verdict === "approve") this.#passed.set(intent_id, { by: "decision", lifts });
  }

  /** An action took over the approval of an equal one. */
  #resumed(intent_id: string | null, escalation_id: string, { claim, resumed_from }: Entry["data"]): void {
    demand(this.#approvals.get(escalation_id)?.by === "reviewers", "an approval without a person's vote was passed on");
    const gone = this.#users.has(escalation_id) || this.#revoked.has(escalation_id);
    demand(!gone, "an approval was passed on after it was used or revoked");
    demand(this.#reviews.get(resumed_from ?? "") === escalation_id, "an approval was passed on from another review");
    demand(!this.#live.has("stops"), "an approval was passed on to an action that an active rule blocks");
    this.#demandPanels(intent_id, "an approval was passed on to an action that an active rule reserves for others");
    this.#holders.set(escalation_id, intent_id);
    if (claim !== "required") this.#users.set(escalation_id, intent_id);
  }

  #reviewed(intent_id: string | null): void {
    demand(!this.#live.has("stops"), "a review approved what a rule in force blocks");
    const panels = this.#panelsOf(intent_id);
    demand(
      panels.every(({ missing }) => missing === null),
      "a review was approved although a panel is not met",
    );
    this.#demandPanels(intent_id, "a review was approved without the panel of a rule in force");
    const asked = this.#reasons.get(intent_id);
    const membrane_asks = panels.some(({ source }) => source === "membrane");
    if (
      asked?.has("asks_admin") &&
      asked.has("asks_operators") &&
      !membrane_asks &&
      !this.#reassigned.has(this.#reviews.get(intent_id))
    )
      demand(this.#first.get(intent_id) === this.#admin, "a panel approved before its turn");
    this.#approvals.set(this.#reviews.get(intent_id) ?? "", { by: "reviewers", lifts: [] });
  }

  #timedOut(intent_id: string | null): void {
    demand(!this.#live.has("stops"), "a time limit approved what a rule in force blocks");
    demand(!this.#live.has("asks_admin"), "a time limit approved what a rule in force keeps for people");
    this.#approvals.set(this.#reviews.get(intent_id) ?? "", { by: "time_limit", lifts: [] });
  }

  #overridden({ data: { override_id, person, status, policies_overridden = [] } }: Entry): void {
    if (status === "pending_second") this.#seconded.set(override_id, person);
    else if (this.#live.has("stops") && policies_overridden.includes("stops")) {
      const first = this.#seconded.get(override_id);
      demand(first !== undefined && first !== person, "one person overrode what takes two");
    }
  }

  #claim(intent_id: string | null): void {
    demand(!this.#claimed.has(intent_id), "an action was claimed twice");
    this.#claimed.add(intent_id);
    const review = this.#reviews.get(intent_id);
    const passed = review === undefined ? this.#passed.get(intent_id) : this.#approvals.get(review);
    demand(passed !== undefined, "an action was claimed that was not let through");
    if (review !== undefined) this.#useApproval(review, intent_id);
    demand(!this.#live.has("stops") || passed.lifts.includes("stops"), "a rule in force blocks what was claimed");
    if (passed.by === "time_limit") return;
    if (passed.by === "reviewers")
      this.#demandPanels(intent_id, "an action was claimed that a rule in force keeps for others");
    else
      for (const name of this.#live)
        demand(passed.lifts.includes(name), "an action was claimed that a rule in force keeps for people");
  }

  /** Each approval serves one action: its holder, if it was passed on. */
  #useApproval(escalation_id: string, intent_id: string | null): void {
    const holder = this.#holders.get(escalation_id) ?? intent_id;
    demand(holder === intent_id, "an action was claimed whose approval went to another one");
    const user = this.#users.get(escalation_id) ?? intent_id;
    demand(user === intent_id, "an approval was used by two actions");
    demand(!this.#revoked.has(escalation_id), "a revoked approval was claimed");
    this.#users.set(escalation_id, intent_id);
  }

  #panelsOf(intent_id: string | null): Escalation["panels"] {
    return this.#stored.reviews.get(this.#reviews.get(intent_id) ?? "")?.panels ?? [];
  }

  /** Each active rule has a panel, unless a reassignment replaced all panels by one. */
  #demandPanels(intent_id: string | null, problem: string): void {
    if (this.#reassigned.has(this.#reviews.get(intent_id))) return;
    const panels = this.#panelsOf(intent_id);
    for (const name of this.#live)
      demand(
        panels.some(({ policy }) => policy === name),
        problem,
      );
  }
}

/** Votes of an open review count in its panels, and some panel is unmet. A withdrawn action is blocked. */
function checkPanels({ status, panels, votes, withdrawn_by, resolution }: Escalation): void {
  if (withdrawn_by !== undefined)
    demand(status === "cancelled" && resolution?.outcome === "block", "a withdrawn action is not blocked");
  for (const { approved_by } of panels)
    for (const person of approved_by)
      demand(
        votes.some(({ reviewer }) => reviewer === person),
        "a panel counts somebody who did not vote",
      );
  if (status !== "pending") return;
  demand(
    panels.some(({ missing }) => missing !== null),
    "a review is open although each panel is met",
  );
  for (const { reviewer } of votes)
    demand(
      panels.some(({ approved_by }) => approved_by.includes(reviewer)),
      "an approval counts in no panel",
    );
}

function demand(holds: boolean, message: string): asserts holds {
  if (!holds) throw new InvariantBroken(message);
}
