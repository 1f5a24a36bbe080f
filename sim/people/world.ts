/**
 * Simulates reviews and overrides: two nodes on a real database, one organization, reviewers and agents. Some worlds
 * add freezes or changes of rules. Nodes crash between two statements of a transaction, or between its commit and its
 * answer.
 *
 * One seed draws everything. Racing actions are equal, so the trace does not depend on the winner. Time passes by
 * moving deadlines.
 */
import { Fault } from "@countersign/core";
import { cancelEscalation } from "../../packages/server/src/operations/escalations/cancel-escalation.ts";
import { decideEscalation } from "../../packages/server/src/operations/escalations/decide-escalation.ts";
import { reassignEscalation } from "../../packages/server/src/operations/escalations/reassign-escalation.ts";
import { timeOutEscalations } from "../../packages/server/src/operations/escalations/time-out-escalations.ts";
import { closeFrozenReviews } from "../../packages/server/src/operations/freezes/close-frozen-reviews.ts";
import { freeze } from "../../packages/server/src/operations/freezes/freeze.ts";
import type { FreezeTarget } from "../../packages/server/src/operations/freezes/freeze-subject.ts";
import { unfreeze } from "../../packages/server/src/operations/freezes/unfreeze.ts";
import { submitIntent } from "../../packages/server/src/operations/intents/submit-intent.ts";
import { overrideBlock } from "../../packages/server/src/operations/overrides/override-block.ts";
import { revokeOverride } from "../../packages/server/src/operations/overrides/revoke-override.ts";
import type { Caller } from "../../packages/server/src/operations/shared/caller.ts";
import type { Clock, Db } from "../../packages/server/src/ports.ts";
import { lockHead } from "../../packages/server/src/store/organizations/heads.ts";
import { InvariantBroken } from "../invariants.ts";
import { createRandom, type Random } from "../random.ts";
import { adminOf, by_policies, type Cast, escalated_action, type Mode, prepareCast } from "./cast.ts";
import { checkFreezes, checkPeople, type Memory } from "./invariants.ts";
import { Crash, type Node, type PeopleSetting, startNode } from "./node.ts";
import { begin, untilWaiting } from "./race.ts";
import { Rulings } from "./rulings.ts";
import { checkRulings } from "./rulings-invariants.ts";
import { createSource, type SimSource } from "./source.ts";

export type PeopleResult =
  | { readonly sound: true; readonly trace: readonly string[] }
  | { readonly sound: false; readonly step: number; readonly problem: string; readonly trace: readonly string[] };

export async function runPeople(seed: number, setting: PeopleSetting, steps = 10): Promise<PeopleResult> {
  const random = createRandom(seed);
  let now_us = Date.now() * 1000;
  const clock: Clock = { now_us: () => (now_us += 1) };
  const source = createSource(random);
  const nodes = [startNode(setting, clock, source.httpOut), startNode(setting, clock, source.httpOut)] as const;
  try {
    const cast = await prepareCast(setting.db, nodes[0].runtime, random, setting.rulings === true);
    const world = new PeopleWorld(setting, random, source, nodes, cast);
    const { trace } = world;
    for (let step = 0; step < steps; step++) {
      try {
        await world.step();
      } catch (error) {
        if (!(error instanceof InvariantBroken)) throw error;
        return { sound: false, step, problem: error.message, trace };
      }
    }
    return { sound: true, trace };
  } finally {
    await Promise.all(nodes.map((node) => node.runtime.writer.close()));
  }
}

export interface Drawn {
  /** 0 to 99: chooses the action. */
  readonly draw: number;
  readonly node: Node;
  readonly person: Caller;
  readonly mode: Mode;
  readonly escalation: Memory["escalations"][number] | null;
  readonly blocked: Memory["blocked"][number] | null;
  /** Statements until the node crashes; null: it lives. */
  readonly crash: number | null;
}

const blocking = 2;

class PeopleWorld {
  readonly trace: string[] = [];
  readonly #db: Db;
  readonly #freezes: boolean;
  /** Null: rules never change, and nobody claims or withdraws. */
  readonly #rulings: Rulings | null;
  readonly #random: Random;
  readonly #source: SimSource;
  readonly #nodes: readonly [Node, Node];
  readonly #cast: Cast;
  readonly #memory: Memory = { escalations: [], blocked: [], overrides: [], closed: new Map(), votes: new Map() };

  constructor(
    { db, freezes = false, rulings = false }: PeopleSetting,
    random: Random,
    source: SimSource,
    nodes: readonly [Node, Node],
    cast: Cast,
  ) {
    this.#db = db;
    this.#freezes = freezes;
    this.#random = random;
    this.#source = source;
    this.#nodes = nodes;
    this.#cast = cast;
    const outcome = this.#outcome.bind(this);
    const act = { outcome, vote: this.#vote.bind(this), submit: this.#submit.bind(this) };
    this.#rulings = rulings ? new Rulings({ db, random, nodes, cast, memory: this.#memory, act }) : null;
  }

  async step(): Promise<void> {
    const { org_id, agents, creator } = this.#cast;
    for (let n = this.#random.below(3); n >= 0; n--) this.trace.push(await this.#act());
    await checkPeople(this.#db, org_id, this.#memory, agents.live.lineage_id ?? "", creator.key_id ?? "");
    if (this.#freezes) await checkFreezes(this.#db, org_id, this.#admin.key_id ?? "");
    if (this.#rulings !== null) await checkRulings(this.#db, this.#cast);
  }

  async #act(): Promise<string> {
    const random = this.#random;
    const drawn = this.#draw();
    const { draw, node, mode, escalation, blocked } = drawn;
    if (this.#freezes && random.chance(this.#rulings === null ? 0.25 : 0.15)) return this.#freeze(drawn);
    if (this.#rulings !== null && random.chance(0.55)) return this.#rulings.act(drawn);
    if (random.chance(0.12)) return this.#useSource(drawn);
    if (draw < 14) return `hold: ${await this.#submit(node, random.below(2), escalated_action, mode)}`;
    if (draw < 26) return `act: ${await this.#submit(node, blocking, random.below(2), mode)}`;
    if (draw < 60 && escalation !== null) return this.#review(drawn, escalation.escalation_id);
    if (draw < 66) return this.#passDeadlines(escalation);
    if (draw < 74) return this.#timeOut(drawn);
    if (draw < 84 && blocked !== null) return this.#override(drawn, blocked);
    const good = this.#memory.overrides.filter((each) => each.over === null);
    const override = good.length > 0 ? random.pick(good) : null;
    if (draw < 88 && override !== null) return this.#revoke(drawn, override);
    if (draw < 92 && override !== null) return this.#expire(override);
    return `retries race: ${await this.#raceRetries(override?.action ?? 0, override?.mode ?? "live")}`;
  }

  #draw(): Drawn {
    const random = this.#random;
    const { escalations, blocked } = this.#memory;
    return {
      node: random.pick(this.#nodes),
      draw: random.below(100),
      escalation: escalations.length > 0 ? random.pick(escalations) : null,
      blocked: blocked.length > 0 ? random.pick(blocked) : null,
      person: random.pick(this.#cast.people),
      crash: random.chance(0.25) ? random.below(14) : null,
      mode: random.chance(0.8) ? "live" : "test",
    };
  }

  /** Returns a call's outcome in a word. Anything but an answer, a refusal or a crash is a bug. */
  async #outcome(node: Node, work: () => Promise<string>): Promise<string> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Fault) return error.code;
      if (error instanceof Crash) return "crashed";
      if (error instanceof InvariantBroken) throw error;
      throw new InvariantBroken(`an operation failed: ${String(error)}`);
    } finally {
      node.fate.left = null;
    }
  }

  get #admin(): Caller {
    return adminOf(this.#cast);
  }

  /**
   * Freezes or unfreezes the agent, its keys' creator or the organization, or closes reviews as a worker does. Each
   * freeze stops the agent.
   */
  async #freeze({ node, person, crash }: Drawn): Promise<string> {
    const { runtime } = node;
    const { org_id, creator } = this.#cast;
    const name = { agent: "A", key: creator.key_id ?? "", organization: org_id };
    const kind = this.#random.pick(["agent", "key", "organization"] as const);
    const target = { kind, name: name[kind] };
    const mode = this.#random.pick(["block", "escalate"] as const);
    const draw = this.#random.below(10);
    node.fate.left = crash;
    if (draw < 4) {
      const begin = async () => (await freeze(runtime, person, target, { mode, reason: "sim" })).mode;
      return `freeze ${kind}: ${await this.#outcome(node, begin)}`;
    }
    if (draw < 8) return `unfreeze ${kind}: ${await this.#unfreeze(node, target)}`;
    return `close reviews: ${await this.#outcome(node, async () => String(await closeFrozenReviews(runtime, [])))}`;
  }

  #unfreeze(node: Node, target: FreezeTarget): Promise<string> {
    const end = async () => String((await unfreeze(node.runtime, this.#admin, target, { reason: "sim" })).unfrozen);
    return this.#outcome(node, end);
  }

  #useSource({ node, mode, crash }: Drawn): Promise<string> {
    const other = node === this.#nodes[0] ? this.#nodes[1] : this.#nodes[0];
    node.fate.left = crash;
    return this.#source.act(
      (work) => this.#outcome(node, work),
      node.runtime,
      this.#cast.creator,
      () => this.#submit(other, 0, escalated_action, mode),
    );
  }

  #submit(node: Node, membrane: number, action: number, mode: Mode): Promise<string> {
    const { org_id, membranes, agents } = this.#cast;
    // Only an action with `claim` joins a review or takes over an approval.
    const claims = this.#rulings !== null && this.#random.chance(0.6);
    return this.#outcome(node, async () => {
      const intent = { agent: { id: "a" }, action: { verb: `act${action}` }, payload: { content: { action } } };
      const claim = claims ? { claim: "required" as const } : {};
      const submission = { intent, membrane_id: membranes[membrane] as string, ...claim };
      const none = { mode: undefined, idempotency_key: undefined, agent_token: undefined };
      const request = { submission, ...none, batch_size: 1, client_ip: () => "" };
      const { intent_id, decision_text } = await submitIntent(node.runtime, agents[mode], request);
      await this.#source.demandCurrent(this.#db, org_id, intent_id);
      const { verdict, escalation_id, human_override_id } = JSON.parse(decision_text);
      const { escalations } = this.#memory;
      if (escalation_id !== null) {
        if (!escalations.some((each) => each.escalation_id === escalation_id))
          escalations.push({ escalation_id, membrane });
      } else if (verdict === "block") this.#memory.blocked.push({ intent_id, action, mode });
      else if (membrane !== by_policies || human_override_id !== null) this.#spend(human_override_id, action, mode);
      return verdict;
    });
  }

  /** Spends an override, which must be valid and for the same action. */
  #spend(override_id: string | null, action: number, mode: Mode): void {
    const override = this.#memory.overrides.find((each) => each.override_id === override_id);
    if (override === undefined) throw new InvariantBroken("an approval has no override");
    if (override.over !== null) throw new InvariantBroken(`an approval uses an override that is ${override.over}`);
    if (override.action !== action || override.mode !== mode)
      throw new InvariantBroken("an approval uses the override of another action");
    override.over = "consumed";
  }

  async #review({ draw, node, person, crash }: Drawn, escalation_id: string): Promise<string> {
    const { runtime } = node;
    if (draw < 40) {
      node.fate.left = crash;
      const outcome = this.#random.chance(0.8) ? "approve" : "block";
      return `vote: ${await this.#vote(node, person, escalation_id, outcome)}`;
    }
    if (draw < 44) return `creator votes: ${await this.#vote(node, this.#cast.creator, escalation_id, "approve")}`;
    if (draw < 50) {
      node.fate.left = crash;
      const input = { reviewers: [{ type: "role" as const, id: "operator" }] };
      const reassign = async () => (await reassignEscalation(runtime, person, escalation_id, input)).status;
      return `reassign: ${await this.#outcome(node, reassign)}`;
    }
    if (draw < 54) {
      node.fate.left = crash;
      const cancel = async () => (await cancelEscalation(runtime, person, escalation_id, {})).status;
      return `cancel: ${await this.#outcome(node, cancel)}`;
    }
    const answers = await Promise.all(
      this.#cast.people.map((each, n) => this.#vote(this.#nodes[n % 2] as Node, each, escalation_id, "approve")),
    );
    return `votes race: ${answers.sort().join(" ")}`;
  }

  #vote(node: Node, person: Caller, escalation_id: string, outcome: "approve" | "block"): Promise<string> {
    const { votes } = this.#memory;
    return this.#outcome(node, async () => {
      const { response } = await decideEscalation(node.runtime, person, escalation_id, { outcome }, undefined);
      votes.set(escalation_id, (votes.get(escalation_id) ?? 0) + 1);
      if (person === this.#cast.creator) throw new InvariantBroken("the creator of the submitter decided");
      return response.status;
    });
  }

  async #passDeadlines(escalation: Drawn["escalation"]): Promise<string> {
    const which = escalation === null || this.#random.chance(0.2) ? this.#memory.escalations : [escalation];
    const past = "2026-01-01T00:00:00.000000Z";
    await this.#db.system((query) =>
      query(
        `update escalations set expires_at = $2::timestamptz, record = jsonb_set(record::jsonb, '{expires_at}', to_jsonb($3::text))::json
         where escalation_id = any($1) and status = 'pending'`,
        [which.map((each) => each.escalation_id), past, past],
      ),
    );
    return "time passes for reviews";
  }

  async #timeOut({ node, crash }: Drawn): Promise<string> {
    node.fate.left = crash;
    await this.#outcome(node, async () => String(await timeOutEscalations(node.runtime, [])));
    if (crash !== null) return "the worker may have died";
    const rows = await this.#db.system((query) =>
      query(
        "select 1 as one from escalations where org_id = $1 and status = 'pending' and expires_at <= clock_timestamp()",
        [this.#cast.org_id],
      ),
    );
    if (rows.length > 0) throw new InvariantBroken(`${rows.length} reviews are open after their deadline`);
    return "the worker ends expired reviews";
  }

  /** A key made with the live agent's key also tries. It may override only blocks of the other agent. */
  async #override({ draw, node, person }: Drawn, blocked: Memory["blocked"][number]): Promise<string> {
    const { intent_id, action, mode } = blocked;
    const by = draw < 76 ? this.#cast.offspring : person;
    const answer = await this.#outcome(node, async () => {
      const { response } = await overrideBlock(node.runtime, by, intent_id, { reason: "seen" }, undefined);
      if (by !== person && mode === "live") throw new InvariantBroken("a key of the submitter overrode its block");
      const { override_id, status } = response;
      const over = status === "active" ? null : "waiting";
      const known = this.#memory.overrides.find((each) => each.override_id === override_id);
      if (known === undefined) this.#memory.overrides.push({ override_id, action, mode, over });
      else known.over = over;
      return status;
    });
    return `${by === person ? "" : "offspring "}override: ${answer}`;
  }

  async #revoke({ node, person }: Drawn, override: Memory["overrides"][number]): Promise<string> {
    const answer = await this.#outcome(node, async () => {
      await revokeOverride(node.runtime, person, override.override_id);
      override.over = "revoked";
      return "revoked";
    });
    return `revoke: ${answer}`;
  }

  async #expire(override: Memory["overrides"][number]): Promise<string> {
    await this.#db.system((query) =>
      query("update overrides set expires_at = clock_timestamp() where override_id = $1", [override.override_id]),
    );
    override.over = "expired";
    return "24 hours pass";
  }

  /** Four retries on both nodes wait for the head, so their snapshots are older than the override. */
  async #raceRetries(action: number, mode: Mode): Promise<string> {
    const { org_id } = this.#cast;
    const racing: Promise<string>[] = [];
    await this.#db.tenant(org_id, async (holder) => {
      await lockHead(holder, org_id);
      const ended: string[] = [];
      for (let n = 0; n < 4; n++)
        racing.push(begin(() => this.#submit(this.#nodes[n % 2] as Node, blocking, action, mode), ended));
      // One session of each node commits its retries. After a node's crash or error, only the other waits.
      const isEnough = (waiting: number) => waiting >= 2 || ended.some((each) => /crashed|unavailable/.test(each));
      await untilWaiting(this.#db, holder, isEnough, ended);
    });
    return (await Promise.all(racing)).sort().join(" ");
  }
}
