/** What holds after every step of a world with rules: nothing was let through or claimed against the rules of that moment. */
import type { Decision, Escalation } from "@countersign/contract";
import type { Db } from "../../packages/server/src/ports.ts";
import { InvariantBroken } from "../invariants.ts";
import type { Cast, PolicyName } from "./cast.ts";

/** An entry of the ledger. */
interface Entry {
  readonly type: string;
  readonly intent_id: string | null;
  readonly override_id: string | null;
  readonly data: {
    readonly name?: PolicyName;
    readonly mode?: "live" | "shadow";
    readonly outcome?: string;
    readonly person?: string;
    readonly status?: string;
    readonly override_id?: string;
    readonly nonce_sha256?: string;
    readonly policies_overridden?: readonly string[];
  } & Partial<Pick<Decision, "verdict" | "reasons">>;
}

interface Stored {
  readonly entries: readonly Entry[];
  readonly reviews: ReadonlyMap<string, Escalation>;
  /** By override_id: what it lifts, by name. */
  readonly lifts: ReadonlyMap<string, readonly string[]>;
  readonly claims: readonly { readonly intent_id: string; readonly nonce_sha256: string }[];
}

/** How an action was let through. */
interface Passed {
  readonly by: "decision" | "reviewers" | "time_limit";
  /** What an override lifted; empty without one. */
  readonly lifts: readonly string[];
}

/** Replays the ledger, whose order is the order of the commits. Throws InvariantBroken. */
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
      "a claim is not the one that the trail tells of",
    );
}

/** `names`: of policies, by id. */
function readStored(db: Db, org_id: string, names: ReadonlyMap<string, string>): Promise<Stored> {
  return db.tenant(org_id, async (query) => {
    await query("set transaction isolation level repeatable read");
    const all = <Row extends object>(sql: string) => query<Row>(`${sql} where org_id = $1 order by 1`, [org_id]);
    const reviews = await all<{ record: Escalation }>("select escalation_id, record from escalations");
    const overrides = await all<{ override_id: string; lifts: string[] }>("select override_id, lifts from overrides");
    return {
      entries: await all<Entry>("select seq, type, intent_id, override_id, data from ledger"),
      reviews: new Map(reviews.map(({ record }) => [record.intent_id, record])),
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
  readonly #reassigned = new Set<string | null>();
  /** The first person who approved an action. */
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
    else if (type === "reassigned") this.#reassigned.add(intent_id);
    else if (type === "voted" && passes && !this.#first.has(intent_id)) this.#first.set(intent_id, data.person);
    else if (type === "reviewed" && passes) this.#reviewed(intent_id);
    else if (type === "timed_out" && passes) this.#timedOut(intent_id);
    else if (type === "overridden") this.#overridden(entry);
    else if (type === "claimed") this.#claim(intent_id);
  }

  #decided({ intent_id, override_id, data: { verdict, reasons = [] } }: Entry): void {
    const named = new Set(reasons.map(({ policy }) => policy));
    const lifts = override_id === null ? [] : (this.#stored.lifts.get(override_id) ?? []);
    for (const name of this.#live)
      demand(named.has(name) || lifts.includes(name), `a decision does not know ${name}, which was in force`);
    this.#reasons.set(intent_id, named);
    if (verdict === "approve") this.#passed.set(intent_id, { by: "decision", lifts });
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
    if (asked?.has("asks_admin") && asked.has("asks_operators") && !membrane_asks && !this.#reassigned.has(intent_id))
      demand(this.#first.get(intent_id) === this.#admin, "a panel approved before its turn");
    this.#passed.set(intent_id, { by: "reviewers", lifts: [] });
  }

  #timedOut(intent_id: string | null): void {
    demand(!this.#live.has("stops"), "a time limit approved what a rule in force blocks");
    demand(!this.#live.has("asks_admin"), "a time limit approved what a rule in force keeps for people");
    this.#passed.set(intent_id, { by: "time_limit", lifts: [] });
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
    const passed = this.#passed.get(intent_id);
    demand(passed !== undefined, "an action was claimed that was not let through");
    demand(!this.#live.has("stops") || passed.lifts.includes("stops"), "a rule in force blocks what was claimed");
    if (passed.by === "time_limit") return;
    if (passed.by === "reviewers")
      this.#demandPanels(intent_id, "an action was claimed that a rule in force keeps for others");
    else
      for (const name of this.#live)
        demand(passed.lifts.includes(name), "an action was claimed that a rule in force keeps for people");
  }

  #panelsOf(intent_id: string | null): Escalation["panels"] {
    return this.#stored.reviews.get(intent_id ?? "")?.panels ?? [];
  }

  /** Each rule in force has a panel, unless a reassignment put one panel in place of all. */
  #demandPanels(intent_id: string | null, problem: string): void {
    if (this.#reassigned.has(intent_id)) return;
    const panels = this.#panelsOf(intent_id);
    for (const name of this.#live)
      demand(
        panels.some(({ policy }) => policy === name),
        problem,
      );
  }
}

/** The votes of an open review count in its panels, and not each panel is met. A withdrawn action is blocked. */
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
