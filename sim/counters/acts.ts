import { randomUUID } from "node:crypto";
import type { Decision } from "@countersign/contract";
import { parseTimestampUs } from "@countersign/core";
import { cancelEscalation } from "../../packages/server/src/operations/escalations/cancel-escalation.ts";
import { decideEscalation } from "../../packages/server/src/operations/escalations/decide-escalation.ts";
import { revokeApproval } from "../../packages/server/src/operations/escalations/revoke-approval.ts";
import { timeOutEscalations } from "../../packages/server/src/operations/escalations/time-out-escalations.ts";
import { withdrawEscalation } from "../../packages/server/src/operations/escalations/withdraw-escalation.ts";
import { claimIntent } from "../../packages/server/src/operations/intents/claim-intent.ts";
import { recordObservation } from "../../packages/server/src/operations/intents/record-observation.ts";
import { submitIntent } from "../../packages/server/src/operations/intents/submit-intent.ts";
import { overrideBlock } from "../../packages/server/src/operations/overrides/override-block.ts";
import { deleteEndedEntries, deleteEndedKeys } from "../../packages/server/src/store/counters/ended-counters.ts";
import { lockHead } from "../../packages/server/src/store/organizations/heads.ts";
import { InvariantBroken } from "../invariants.ts";
import { review_seconds, type Submitter } from "./cast.ts";
import { dayOf, hour_us } from "./model.ts";
import type { CountersNode, CountersWorld } from "./world.ts";

interface Wanted {
  readonly agent: string;
  readonly by: Submitter;
  readonly amount: number;
  readonly ask: boolean;
  readonly claim: boolean;
}

interface Made {
  readonly wanted: Wanted;
  readonly intent_id: string;
  readonly escalation_id: string | null;
  readonly verdict: Decision["verdict"];
  readonly at_us: number;
}

const amounts = [7, 12.5, 20, 33.333333, 40, 60, 75];

const deleted_max = 1_000;

type Act = (node: CountersNode) => Promise<string>;

/** The acts of a world. The weights add up to 100. */
export class Acts {
  readonly #world: CountersWorld;
  /** Decisions that were answered. */
  readonly #made: Made[] = [];
  readonly #nonces = new Map<string, string>();
  readonly #acts: readonly (readonly [weight: number, act: Act])[] = [
    [24, (node) => this.#submit(node, this.#draw())],
    [12, () => this.#race()],
    [16, (node) => this.#vote(node)],
    [4, (node) => this.#end(node)],
    [4, (node) => this.#timeOut(node)],
    [6, (node) => this.#override(node)],
    [6, (node) => this.#submitAgain(node)],
    [8, (node) => this.#claim(node)],
    [8, (node) => this.#report(node)],
    [2, (node) => this.#revoke(node)],
    [6, (node) => this.#jump(node)],
    [1, () => this.#restart()],
    [3, (node) => this.#deleteEnded(node)],
  ];

  constructor(world: CountersWorld) {
    this.#world = world;
  }

  async act(): Promise<string> {
    const { random, nodes } = this.#world;
    for (const each of nodes) each.clock_reads = 0;
    await this.#pass(random.pick([0, 1, 1_000, 40_000]));
    const node = random.pick(nodes);
    if (random.chance(0.12)) node.fate.left = random.below(16);
    let draw = random.below(100);
    for (const [weight, act] of this.#acts) {
      if (draw < weight) return act(node);
      draw -= weight;
    }
    throw new Error("the weights do not add up to 100");
  }

  async #pass(us: number): Promise<void> {
    if (us === 0) return;
    const { now_us, setTime } = this.#world;
    await setTime(now_us() + us);
  }

  #draw(): Wanted {
    const { random } = this.#world;
    return {
      agent: random.pick(["a", "a", "b"]),
      by: random.pick(["agent", "agent", "host", "test"] as const),
      amount: random.pick(amounts),
      ask: random.chance(0.4),
      claim: random.chance(0.6),
    };
  }

  #submit(node: CountersNode, wanted: Wanted, idempotency_key?: string): Promise<string> {
    const { cast, memory, random } = this.#world;
    memory.sent += 1;
    if (random.chance(0.08)) node.fates.push(random.pick(["lost_before", "lost_after", "lost_some"] as const));
    return this.#world.outcome(node, async () => {
      const { agent, by, amount, ask, claim } = wanted;
      const submission = {
        intent: { agent: { id: agent }, action: { verb: "pay" }, payload: { content: { amount, ask } } },
        membrane_id: cast.membrane_id,
        ...(claim ? { claim: "required" as const } : {}),
      };
      const none = { mode: undefined, agent_token: undefined, batch_size: 1, client_ip: () => "" };
      const request = { submission, idempotency_key, ...none };
      const is_alive = node.fate.left === null;
      const answer = await submitIntent(node.runtime, cast.submitters[by], request).catch((error: unknown) => {
        const is_unanswered = (error as { code?: string }).code === "unavailable";
        if (is_alive && is_unanswered) throw new InvariantBroken("a submission got no decision");
        throw error;
      });
      memory.answered.add(answer.intent_id);
      const decision = JSON.parse(answer.decision_text) as Decision;
      const { verdict, escalation_id, timestamp } = decision;
      if (!answer.replayed)
        this.#made.push({
          ...{ wanted, verdict, escalation_id, intent_id: answer.intent_id },
          at_us: parseTimestampUs(timestamp) ?? 0,
        });
      return decision.resumed_from === undefined ? verdict : "handed_on";
    });
  }

  /** Submissions for one agent on all nodes. Some share an Idempotency-Key. */
  async #race(): Promise<string> {
    const { random, nodes } = this.#world;
    for (const node of nodes) {
      node.fate.left = null;
      if (random.chance(0.2)) node.fates.push("run", random.pick(["lost_before", "lost_after", "lost_some"] as const));
    }
    const { agent, by } = this.#draw();
    const key = randomUUID();
    const racers = Array.from({ length: 4 + random.below(5) }, () => {
      const wanted = { ...this.#draw(), agent, by, ask: false };
      return random.chance(0.15) ? { ...wanted, amount: 7, claim: false, key } : wanted;
    });
    const answers = racers.map((wanted) =>
      this.#submit(random.pick(nodes), wanted, "key" in wanted ? (wanted.key as string) : undefined),
    );
    return `race: ${(await Promise.all(answers)).sort().join(" ")}`;
  }

  #pick(matches: (made: Made) => boolean): Made | null {
    const found = this.#made.filter(matches).slice(-6);
    return found.length === 0 ? null : this.#world.random.pick(found);
  }

  async #vote(node: CountersNode): Promise<string> {
    const { cast, random } = this.#world;
    const held = this.#pick(({ verdict }) => verdict === "escalate");
    if (held === null) return "nothing to review";
    const outcome = random.pick(["approve", "approve", "block", "approve_modified"] as const);
    const change = { path: "/amount", op: "replace" as const, value: random.pick(amounts) };
    const input = { outcome, ...(outcome === "approve_modified" ? { modifications: [change] } : {}) };
    const vote = async () => {
      const { runtime } = node;
      return (await decideEscalation(runtime, cast.operators[0], held.escalation_id ?? "", input, undefined)).response
        .status;
    };
    return `${outcome}: ${await this.#world.outcome(node, vote)}`;
  }

  async #end(node: CountersNode): Promise<string> {
    const { cast, random } = this.#world;
    const held = this.#pick(({ verdict }) => verdict === "escalate");
    if (held === null) return "nothing to end";
    const escalation_id = held.escalation_id ?? "";
    if (random.chance(0.5)) {
      const cancel = async () => (await cancelEscalation(node.runtime, cast.operators[1], escalation_id, {})).status;
      return `cancel: ${await this.#world.outcome(node, cancel)}`;
    }
    const caller = cast.submitters[held.wanted.by];
    const withdraw = async () => (await withdrawEscalation(node.runtime, caller, escalation_id, {})).outcome ?? "open";
    return `withdraw: ${await this.#world.outcome(node, withdraw)}`;
  }

  async #timeOut(node: CountersNode): Promise<string> {
    await this.#pass(this.#world.random.pick([review_seconds, review_seconds / 2]) * 1_000_000 + 10_000_000);
    const work = async () => String(await timeOutEscalations(node.runtime, []));
    return `time limits: ${await this.#world.outcome(node, work)}`;
  }

  async #override(node: CountersNode): Promise<string> {
    const { cast } = this.#world;
    const blocked = this.#pick(({ verdict }) => verdict === "block");
    if (blocked === null) return "nothing to override";
    const work = async () => {
      const { response } = await overrideBlock(
        node.runtime,
        cast.operators[1],
        blocked.intent_id,
        { reason: "seen" },
        undefined,
      );
      return response.status;
    };
    const given = await this.#world.outcome(node, work);
    return `override: ${given}, then ${await this.#submit(node, blocked.wanted)}`;
  }

  /** An equal action may take over an approval that was not claimed. */
  async #submitAgain(node: CountersNode): Promise<string> {
    const held = this.#pick(({ verdict }) => verdict === "escalate");
    return held === null ? "nothing to submit again" : `again: ${await this.#submit(node, held.wanted)}`;
  }

  async #claim(node: CountersNode): Promise<string> {
    const { cast, random } = this.#world;
    const made = this.#pick(({ verdict, wanted }) => verdict !== "block" && wanted.claim);
    if (made === null) return "nothing to claim";
    const { intent_id, wanted } = made;
    const nonce = this.#nonces.get(intent_id) ?? randomUUID();
    this.#nonces.set(intent_id, nonce);
    const claim = async () => {
      await claimIntent(node.runtime, cast.submitters[wanted.by], intent_id, { nonce });
      return "claimed";
    };
    const claimed = `claim by ${wanted.by}: ${await this.#world.outcome(node, claim)}`;
    return random.chance(0.5) ? `${claimed}, ${await this.#reportOn(node, made)}` : claimed;
  }

  async #report(node: CountersNode): Promise<string> {
    const made = this.#pick(({ verdict }) => verdict !== "block");
    if (made === null) return "nothing to report";
    const told = await this.#reportOn(node, made);
    return this.#world.random.chance(0.4) ? `${told}, ${await this.#reportOn(node, made)}` : told;
  }

  async #reportOn(node: CountersNode, { wanted, intent_id }: Made): Promise<string> {
    const { cast, random, trusts_agents } = this.#world;
    const status = random.pick(["failed", "failed", "skipped", "executed"] as const);
    const submitter = cast.submitters[wanted.by];
    const own = trusts_agents ? { ...submitter, role: "host" as const } : submitter;
    const is_own = random.chance(0.6);
    const report = async () => {
      const caller = is_own ? own : cast.operators[0];
      await recordObservation(node.runtime, caller, intent_id, { status }, undefined);
      return status;
    };
    return `report by ${is_own ? wanted.by : "an operator"}: ${await this.#world.outcome(node, report)}`;
  }

  async #revoke(node: CountersNode): Promise<string> {
    const { cast } = this.#world;
    const held = this.#pick(({ verdict }) => verdict === "escalate");
    if (held === null) return "nothing to revoke";
    const revoke = async () =>
      (await revokeApproval(node.runtime, cast.operators[0], held.escalation_id ?? "", {})).status;
    return `revoke: ${await this.#world.outcome(node, revoke)}`;
  }

  /** The clock of a node jumps to the last microsecond in which an action counts, or to the next one. */
  async #jump(node: CountersNode): Promise<string> {
    const { random, now_us, setTime } = this.#world;
    const made = this.#pick(({ verdict }) => verdict !== "block");
    const end_us = random.chance(0.3) || made === null ? nextDayUs(now_us()) : made.at_us + hour_us;
    const to_us = end_us - random.pick([0, 1]) - node.skew_us;
    if (to_us > now_us()) await setTime(to_us);
    return `at the end of a window: ${await this.#submit(node, { ...this.#draw(), ...agentOf(made) })}`;
  }

  async #restart(): Promise<string> {
    const { random, nodes, restart } = this.#world;
    await restart(random.below(nodes.length));
    return "a node starts again";
  }

  async #deleteEnded(node: CountersNode): Promise<string> {
    const { db, random, cast, memory, now_us, alter } = this.#world;
    node.fate.left = null;
    if (random.chance(0.5)) await this.#pass(hour_us);
    memory.deleted_us = now_us();
    await db.system((query) => deleteEndedEntries((text, params) => query(alter(text), params), deleted_max));
    await db.tenant(cast.org_id, async (query) => {
      await lockHead(query, cast.org_id);
      await deleteEndedKeys((text, params) => query(alter(text), params), cast.org_id, deleted_max);
    });
    return "ended entries are deleted";
  }
}

function agentOf(made: Made | null): Partial<Wanted> {
  return made === null ? {} : { agent: made.wanted.agent, by: made.wanted.by };
}

function nextDayUs(now_us: number): number {
  const minute_us = 60_000_000;
  let end_us = Math.floor(now_us / minute_us) * minute_us;
  while (dayOf(end_us) === dayOf(now_us)) end_us += 15 * minute_us - (end_us % (15 * minute_us));
  return end_us;
}
