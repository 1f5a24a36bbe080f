/**
 * Acts of worlds with rules. Policies change during reviews. Agents claim, withdraw and resubmit. Approvals are
 * revoked, and blocks need two people. Races combine these on one review.
 */
import { randomUUID } from "node:crypto";
import { Fault } from "@countersign/core";
import { cancelEscalation } from "../../packages/server/src/operations/escalations/cancel-escalation.ts";
import { revokeApproval } from "../../packages/server/src/operations/escalations/revoke-approval.ts";
import { timeOutEscalations } from "../../packages/server/src/operations/escalations/time-out-escalations.ts";
import { withdrawEscalation } from "../../packages/server/src/operations/escalations/withdraw-escalation.ts";
import { claimIntent } from "../../packages/server/src/operations/intents/claim-intent.ts";
import { activatePolicy } from "../../packages/server/src/operations/policies/change-policy.ts";
import type { Caller } from "../../packages/server/src/operations/shared/caller.ts";
import type { Db } from "../../packages/server/src/ports.ts";
import { InvariantBroken } from "../invariants.ts";
import type { Random } from "../random.ts";
import { adminOf, by_policies, type Cast, escalated_action, type Mode } from "./cast.ts";
import type { Memory } from "./invariants.ts";
import type { Node } from "./node.ts";
import { raceInOrder } from "./race.ts";
import type { Drawn } from "./world.ts";

/** Functions of the world. Each resolves to its outcome in a word. */
interface Acts {
  outcome(node: Node, work: () => Promise<string>): Promise<string>;
  vote(node: Node, person: Caller, escalation_id: string, outcome: "approve" | "block"): Promise<string>;
  submit(node: Node, membrane: number, action: number, mode: Mode): Promise<string>;
}

interface World {
  readonly db: Db;
  readonly random: Random;
  readonly nodes: readonly [Node, Node];
  readonly cast: Cast;
  readonly memory: Memory;
  readonly act: Acts;
}

interface Claimer {
  readonly caller: Caller;
  readonly nonce: string;
}

type Review = Memory["escalations"][number];

const racing = [
  ...["vote", "vote", "admin", "rules", "rules", "withdraw", "cancel"],
  ...["claim", "claim", "revoke", "time_limit"],
];

interface Action {
  readonly intent_id: string;
  readonly escalation_id: string | null;
  readonly mode: Mode;
  readonly passed: boolean;
  /** The rules that its override lifted; empty without one. */
  readonly lifts: readonly string[];
}

export class Rulings {
  readonly #world: World;
  /** The process that holds the claim of each action. */
  readonly #claimed = new Map<string, Claimer>();

  constructor(world: World) {
    this.#world = world;
  }

  async act(drawn: Drawn): Promise<string> {
    const { random } = this.#world;
    const { node, mode, crash } = drawn;
    const draw = random.below(100);
    if (draw < 14) return this.#crashing(node, crash, () => this.#changeRules(node));
    if (draw < 28) return `by policies: ${await this.#world.act.submit(node, by_policies, escalated_action, mode)}`;
    if (draw < 46) return this.#claim(drawn);
    if (draw < 54) return this.#claimersRace();
    const review = this.#drawReview();
    if (review === null) return `hold: ${await this.#world.act.submit(node, random.below(2), escalated_action, mode)}`;
    const { escalation_id } = review;
    if (draw < 57) return this.#crashing(node, crash, () => this.#withdraw(node, escalation_id));
    if (draw < 59) return this.#crashing(node, crash, () => this.#revoke(node, escalation_id));
    if (draw < 80) return this.#everybodyApproves(node, escalation_id);
    return this.#raceForReview(drawn, review);
  }

  /** Draws a review, mostly an open one; null if there is none. */
  #drawReview(): Review | null {
    const { random, memory } = this.#world;
    const open = memory.escalations.filter(({ escalation_id }) => !memory.closed.has(escalation_id));
    const among = open.length > 0 && random.chance(0.9) ? open : memory.escalations;
    return among.length > 0 ? random.pick(among) : null;
  }

  #crashing(node: Node, crash: number | null, work: () => Promise<string>): Promise<string> {
    node.fate.left = crash;
    return work();
  }

  async #changeRules(node: Node): Promise<string> {
    const { random, cast, act } = this.#world;
    const { policy_id, name } = random.pick(cast.policies);
    const mode = (await this.#livePolicies()).includes(policy_id) ? "shadow" : "live";
    const change = async () => (await activatePolicy(node.runtime, adminOf(cast), policy_id, { mode })).policy.status;
    return `${name} goes ${mode}: ${await act.outcome(node, change)}`;
  }

  async #livePolicies(): Promise<string[]> {
    const { db, cast } = this.#world;
    const sql = "select policy_id from policies where org_id = $1 and status = 'live'";
    const rows = await db.tenant(cast.org_id, (query) => query<{ policy_id: string }>(sql, [cast.org_id]));
    return rows.map(({ policy_id }) => policy_id);
  }

  async #withdraw(node: Node, escalation_id: string): Promise<string> {
    const { cast, act } = this.#world;
    const submitter = (await this.#actions()).find((each) => each.escalation_id === escalation_id);
    const agent = cast.agents[submitter?.mode ?? "live"];
    const withdraw = async () => (await withdrawEscalation(node.runtime, agent, escalation_id, {})).outcome ?? "open";
    return `withdraw: ${await act.outcome(node, withdraw)}`;
  }

  async #revoke(node: Node, escalation_id: string): Promise<string> {
    const { cast, act } = this.#world;
    const revoke = async () => (await revokeApproval(node.runtime, adminOf(cast), escalation_id, {})).status;
    return `revoke: ${await act.outcome(node, revoke)}`;
  }

  /** The admin first, which meets any panels unless the service refuses it. */
  async #everybodyApproves(node: Node, escalation_id: string): Promise<string> {
    const { cast, act } = this.#world;
    const admin = adminOf(cast);
    const answers: string[] = [];
    for (const person of [admin, ...cast.people.filter((each) => each !== admin)])
      answers.push(await act.vote(node, person, escalation_id, "approve"));
    return `all approve: ${answers.join(" ")}`;
  }

  /** The process that holds a claim may repeat it. */
  async #claim({ node, crash }: Drawn): Promise<string> {
    const action = await this.#drawAction();
    if (action === null) return "nothing to claim";
    const known = this.#claimed.get(action.intent_id);
    const repeats = known !== undefined && this.#world.random.chance(0.5);
    const claimer = repeats ? known : this.#newClaimer(action);
    const work = () => this.#claimOnce(node, action, claimer);
    const answer = await this.#crashing(node, crash, work);
    if (answer === "blocked_now") await this.#demandSomeRule(action);
    return `claim${repeats ? " again" : ""}: ${answer}`;
  }

  async #claimersRace(): Promise<string> {
    const { db, cast, nodes } = this.#world;
    const action = await this.#drawAction();
    if (action === null) return "nothing to claim";
    const racers = [0, 1, 2].map((n) => {
      const claimer = this.#newClaimer(action);
      return () => this.#claimOnce(nodes[n % 2] as Node, action, claimer);
    });
    return `claims race: ${(await raceInOrder(db, cast.org_id, racers)).join(" ")}`;
  }

  #newClaimer({ mode }: Action): Claimer {
    const { random, cast } = this.#world;
    return { caller: random.chance(0.8) ? cast.agents[mode] : adminOf(cast), nonce: randomUUID() };
  }

  async #claimOnce(node: Node, { intent_id }: Action, claimer: Claimer): Promise<string> {
    return this.#world.act.outcome(node, async () => {
      try {
        await claimIntent(node.runtime, claimer.caller, intent_id, { nonce: claimer.nonce });
      } catch (error) {
        if (error instanceof Fault && this.#claimed.get(intent_id) === claimer)
          throw new InvariantBroken(`a repeated claim was refused after its first answer: ${error.code}`);
        throw error;
      }
      const first = this.#claimed.get(intent_id);
      if (first !== undefined && first !== claimer) throw new InvariantBroken("two processes claimed one action");
      this.#claimed.set(intent_id, claimer);
      return "claimed";
    });
  }

  /** In this world only policies can refuse the claim of an approved action. */
  async #demandSomeRule({ lifts }: Action): Promise<void> {
    const live = await this.#livePolicies();
    const further = this.#world.cast.policies.filter(
      ({ policy_id }) => live.includes(policy_id) && !lifts.includes(policy_id),
    );
    if (further.length === 0) throw new InvariantBroken("inactive rules refused a claim");
  }

  /** Races two or three acts on a review and its action. With two, a node may crash. */
  async #raceForReview({ crash, person }: Drawn, { escalation_id, membrane }: Review): Promise<string> {
    const { db, random, nodes, cast, act } = this.#world;
    const action = (await this.#actions()).find((each) => each.escalation_id === escalation_id);
    if (action === undefined) throw new InvariantBroken("an escalation has no action");
    const claimer = this.#newClaimer(action);
    const cancel = (node: Node) => async () =>
      (await cancelEscalation(node.runtime, person, escalation_id, {})).status as string;
    const kinds: Readonly<Record<string, (node: Node) => Promise<string>>> = {
      vote: (node) => act.vote(node, random.pick(cast.people), escalation_id, "approve"),
      admin: (node) => act.vote(node, adminOf(cast), escalation_id, "approve"),
      rules: (node) => this.#changeRules(node),
      withdraw: (node) => this.#withdraw(node, escalation_id),
      cancel: (node) => act.outcome(node, cancel(node)),
      claim: (node) => this.#claimOnce(node, action, claimer),
      equal: (node) => act.submit(node, membrane, escalated_action, action.mode),
      revoke: (node) => this.#revoke(node, escalation_id),
      time_limit: (node) => act.outcome(node, async () => String(await timeOutEscalations(node.runtime, []))),
    };
    const count = crash === null ? 3 : 2;
    // One session commits all submissions of a node, so a node waits once for all of them.
    const drawn = Array.from({ length: count }, (_, n) => random.pick(n < 2 ? [...racing, "equal"] : racing));
    nodes[1].fate.left = crash;
    const racers = drawn.map((kind, n) => () => (kinds[kind] as (node: Node) => Promise<string>)(nodes[n % 2] as Node));
    const answers = await raceInOrder(db, cast.org_id, racers);
    return `race: ${drawn.map((kind, n) => `${kind} ${answers[n]}`).join(", ")}`;
  }

  /** Draws an action, mostly an approved one; null if there is none. */
  async #drawAction(): Promise<Action | null> {
    const { random } = this.#world;
    const actions = await this.#actions();
    const passed = actions.filter((each) => each.passed);
    const among = passed.length > 0 && random.chance(0.85) ? passed : actions;
    return among.length > 0 ? random.pick(among) : null;
  }

  #actions(): Promise<Action[]> {
    const { db, cast } = this.#world;
    return db.tenant(cast.org_id, (query) =>
      query<Action>(
        `select intent_id, escalation_id, mode,
           coalesce(resolution ->> 'outcome', verdict) in ('approve', 'approve_modified') as passed,
           coalesce((select o.lifts from overrides o where o.org_id = i.org_id and o.override_id = i.override_id), '[]') as lifts
         from intents i where org_id = $1 order by intent_id`,
        [cast.org_id],
      ),
    );
  }
}
