/**
 * A small world around what people decide: two nodes on one real database, one organization, reviewers who vote, cancel,
 * hand over, override and revoke, agents who retry, a clock that runs out, and crashes between any two statements of a
 * transaction or between its commit and its answer. One seed draws everything. What races does so on purpose between
 * equals, so that whoever wins the trace is the same. The database's clock cannot be set: time passes by moving deadlines.
 */
import { Fault } from "@countersign/core";
import { cancelEscalation } from "../packages/server/src/operations/escalations/cancel-escalation.ts";
import { decideEscalation } from "../packages/server/src/operations/escalations/decide-escalation.ts";
import { reassignEscalation } from "../packages/server/src/operations/escalations/reassign-escalation.ts";
import { timeOutEscalations } from "../packages/server/src/operations/escalations/time-out-escalations.ts";
import { submitIntent } from "../packages/server/src/operations/intents/submit-intent.ts";
import { insertNewKey } from "../packages/server/src/operations/keys/create-key.ts";
import { membraneDefaults } from "../packages/server/src/operations/membranes/membranes.ts";
import { createOrganization } from "../packages/server/src/operations/organizations/create-organization.ts";
import { overrideBlock } from "../packages/server/src/operations/overrides/override-block.ts";
import { revokeOverride } from "../packages/server/src/operations/overrides/revoke-override.ts";
import type { Runtime } from "../packages/server/src/operations/runtime.ts";
import type { Caller } from "../packages/server/src/operations/shared/caller.ts";
import type { Clock, Db } from "../packages/server/src/ports.ts";
import { insertMembrane } from "../packages/server/src/store/membranes/membranes.ts";
import { lockHead } from "../packages/server/src/store/organizations/heads.ts";
import { InvariantBroken } from "./invariants.ts";
import { checkPeople, type Memory } from "./people-invariants.ts";
import { Crash, type Node, type PeopleSetting, startNode } from "./people-node.ts";
import { createSource } from "./people-source.ts";
import { createRandom, type Random } from "./random.ts";

/** How a run ended: sound, or the first broken promise with what led to it. */
export type PeopleResult =
  | { readonly sound: true; readonly trace: readonly string[] }
  | { readonly sound: false; readonly step: number; readonly problem: string; readonly trace: readonly string[] };

interface Cast {
  readonly org_id: string;
  readonly people: readonly Caller[];
  /** The agent's creator, who may not decide on its actions. */
  readonly creator: Caller;
  readonly agents: Readonly<Record<"live" | "test", Caller>>;
  /** Held with a quorum of one, held with a quorum of two, blocked. */
  readonly membranes: readonly [string, string, string];
}

async function prepare(db: Db, runtime: Runtime, random: Random): Promise<Cast> {
  const org_id = runtime.ids.next("organization");
  const membrane_ids = [0, 1, 2].map(() => runtime.ids.next("membrane")) as [string, string, string];
  return db.system(async (query) => {
    await createOrganization(runtime, query, { org_id, name: "sim", email: null, description: "sim", actor: "system" });
    for (const [n, membrane_id] of membrane_ids.entries()) {
      const escalation = {
        timeout_seconds: 3_600,
        on_timeout: random.pick(["block", "approve"] as const),
        reviewers: [],
        quorum: n + 1,
      };
      const default_verdict = n === 2 ? "block" : "escalate";
      const about = {
        membrane_id,
        name: `m${n}`,
        status: "live",
        is_default: false,
        created_at: "2026-11-21T00:00:00.000000Z",
      } as const;
      await insertMembrane(query, org_id, {
        ...structuredClone(membraneDefaults),
        ...about,
        packs: [],
        default_verdict,
        escalation,
      });
    }
    const key = async (
      role: Caller["role"],
      created_by: string | null,
      environment: "live" | "test" = "live",
    ): Promise<Caller> => {
      const usual = { org_id, name: null, scope: "org", agent_id: null, actor: "system" } as const;
      const { key_id } = await insertNewKey(runtime, query, { ...usual, environment, role, created_by });
      return {
        org_id,
        key_id,
        user_id: null,
        session_id: null,
        lineage_id: key_id,
        role,
        scope: "org",
        agent_id: null,
        environment,
        actor: key_id,
        auth_epoch: 0,
      };
    };
    const creator = await key("admin", null);
    const agents = { live: await key("agent", creator.key_id), test: await key("agent", creator.key_id, "test") };
    const people = [
      await key("operator", null),
      await key("operator", null),
      await key("admin", null),
      await key("operator", null),
    ];
    await query("update org_heads set webhooks = 1 where org_id = $1", [org_id]);
    return { org_id, people, creator, agents, membranes: membrane_ids };
  });
}

/** Runs one world. */
export async function runPeople(seed: number, setting: PeopleSetting, steps = 10): Promise<PeopleResult> {
  const random = createRandom(seed);
  let now_us = Date.now() * 1000;
  const clock: Clock = { now_us: () => (now_us += 1) };
  const source = createSource(random);
  const nodes = [startNode(setting, clock, source.httpOut), startNode(setting, clock, source.httpOut)] as const;
  const { db } = setting;
  const trace: string[] = [];
  const memory: Memory = { escalations: [], blocked: [], overrides: [], closed: new Map(), votes: new Map() };

  /** The outcome of one call in a word; whatever is neither an answer, a refusal nor a crash is a bug. */
  async function told(node: Node, work: () => Promise<string>): Promise<string> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Fault) return error.code;
      if (error instanceof Crash) return "crashed";
      throw new InvariantBroken(`an operation failed: ${String(error)}`);
    } finally {
      node.fate.left = null;
    }
  }

  try {
    const cast = await prepare(db, (nodes[0] as Node).runtime, random);
    const { org_id, people } = cast;
    const submit = (node: Node, membrane: number, action: number, mode: "live" | "test") =>
      told(node, async () => {
        const intent = { agent: { id: "a" }, action: { verb: `act${action}` }, payload: { content: { action } } };
        const request = {
          submission: { intent, membrane_id: cast.membranes[membrane] as string },
          mode: undefined,
          idempotency_key: undefined,
          batch_size: 1,
        };
        const { intent_id, decision_text } = await submitIntent(node.runtime, cast.agents[mode], request);
        await source.demandCurrent(db, org_id, intent_id);
        const { verdict, escalation_id, human_override_id } = JSON.parse(decision_text);
        if (escalation_id !== null) memory.escalations.push({ escalation_id, intent_id, quorum: membrane + 1 });
        else if (verdict === "block") memory.blocked.push({ intent_id, action, mode });
        else {
          const override = memory.overrides.find((each) => each.override_id === human_override_id);
          if (override === undefined) throw new InvariantBroken("an approval rests on no override");
          if (override.over !== null)
            throw new InvariantBroken(`an approval rests on an override that is ${override.over}`);
          if (override.action !== action || override.mode !== mode)
            throw new InvariantBroken("an approval rests on the override of another action");
          override.over = "consumed";
        }
        return verdict;
      });
    const vote = (node: Node, person: Caller, escalation_id: string, outcome: "approve" | "block") =>
      told(node, async () => {
        const { response } = await decideEscalation(node.runtime, person, escalation_id, { outcome }, undefined);
        memory.votes.set(escalation_id, (memory.votes.get(escalation_id) ?? 0) + 1);
        if (person === cast.creator) throw new InvariantBroken("the creator of the submitter decided");
        return response.status;
      });

    async function act(): Promise<string> {
      const node = random.pick(nodes);
      const draw = random.below(100);
      const escalation = memory.escalations.length > 0 ? random.pick(memory.escalations) : null;
      const blocked = memory.blocked.length > 0 ? random.pick(memory.blocked) : null;
      const person = random.pick(people);
      const crash = random.chance(0.25) ? random.below(14) : null;
      const mode = random.chance(0.8) ? "live" : "test";
      if (random.chance(0.12)) {
        const other = node === nodes[0] ? nodes[1] : nodes[0];
        node.fate.left = crash;
        return source.act(
          (work) => told(node, work),
          node.runtime,
          cast.creator,
          () => submit(other, 0, 9, mode),
        );
      }
      if (draw < 14) return `hold: ${await submit(node, random.below(2), 9, mode)}`;
      if (draw < 26) return `act: ${await submit(node, 2, random.below(2), mode)}`;
      if (draw < 40 && escalation !== null) {
        node.fate.left = crash;
        return `vote: ${await vote(node, person, escalation.escalation_id, random.chance(0.8) ? "approve" : "block")}`;
      }
      if (draw < 44 && escalation !== null)
        return `creator votes: ${await vote(node, cast.creator, escalation.escalation_id, "approve")}`;
      if (draw < 50 && escalation !== null) {
        node.fate.left = crash;
        const input = { reviewers: [{ type: "role" as const, id: "operator" }] };
        return `reassign: ${await told(node, async () => (await reassignEscalation(node.runtime, person, escalation.escalation_id, input)).status)}`;
      }
      if (draw < 54 && escalation !== null) {
        node.fate.left = crash;
        return `cancel: ${await told(node, async () => (await cancelEscalation(node.runtime, person, escalation.escalation_id, {})).status)}`;
      }
      if (draw < 60 && escalation !== null) {
        const answers = await Promise.all(
          people.map((each, n) => vote(nodes[n % 2] as Node, each, escalation.escalation_id, "approve")),
        );
        return `votes race: ${answers.sort().join(" ")}`;
      }
      if (draw < 66) {
        const which = escalation === null || random.chance(0.2) ? memory.escalations : [escalation];
        await passDeadlines(which.map((each) => each.escalation_id));
        return "time passes for reviews";
      }
      if (draw < 74) {
        node.fate.left = crash;
        await told(node, async () => String(await timeOutEscalations(node.runtime, [])));
        if (crash !== null) return "the worker may have died";
        await demandNothingOverdue();
        return "the worker ends what is over";
      }
      if (draw < 84 && blocked !== null) {
        const answer = await told(node, async () => {
          const { response } = await overrideBlock(
            node.runtime,
            person,
            blocked.intent_id,
            { reason: "seen" },
            undefined,
          );
          memory.overrides.push({
            override_id: response.override_id,
            action: blocked.action,
            mode: blocked.mode,
            over: null,
          });
          return response.status;
        });
        return `override: ${answer}`;
      }
      const good = memory.overrides.filter((each) => each.over === null);
      const override = good.length > 0 ? random.pick(good) : null;
      if (draw < 88 && override !== null) {
        const answer = await told(node, async () => {
          await revokeOverride(node.runtime, person, override.override_id);
          override.over = "revoked";
          return "revoked";
        });
        return `revoke: ${answer}`;
      }
      if (draw < 92 && override !== null) {
        await db.system((query) =>
          query("update overrides set expires_at = clock_timestamp() where override_id = $1", [override.override_id]),
        );
        override.over = "expired";
        return "24 hours pass";
      }
      return `retries race: ${await raceRetries(override?.action ?? 0, override?.mode ?? "live")}`;
    }

    /** Four retries on both nodes wait for the head together: their snapshots are older than what they then may spend. */
    async function raceRetries(action: number, mode: "live" | "test"): Promise<string> {
      const racing: Promise<string>[] = [];
      await db.tenant(org_id, async (query) => {
        await lockHead(query, org_id);
        const came: string[] = [];
        for (let n = 0; n < 4; n++) {
          const retry = submit(nodes[n % 2] as Node, 2, action, mode);
          racing.push(retry);
          void retry.then(
            (what) => came.push(`${n % 2}: ${what}`),
            (error) => came.push(`${n % 2}: ${error}`),
          );
        }
        const until_ms = performance.now() + 60_000;
        while (performance.now() < until_ms) {
          const [locks] = await db.system((look) =>
            look<{ n: number }>(
              // Not wait_event: it is hidden from a session that has stepped down to another role.
              `select count(distinct l.pid)::integer as n from pg_locks l join pg_stat_activity a on a.pid = l.pid
               where not l.granted and a.datname = current_database()`,
            ),
          );
          // A node that crashed on its way, or gave up, leaves the other one to wait alone.
          if ((locks?.n ?? 0) >= 2 || came.some((what) => /: (?:crashed|unavailable)/.test(what))) return;
          await query("select 1"); // Who holds a head and is silent loses it after a second.
        }
        const sessions = await db.system((look) =>
          look(
            "select application_name, state, wait_event, left(query, 60) as query from pg_stat_activity where datname = current_database()",
          ),
        );
        throw new Error(`the retries do not wait for the head: ${JSON.stringify({ came, sessions })}`);
      });
      return (await Promise.all(racing)).sort().join(" ");
    }

    async function passDeadlines(escalation_ids: readonly string[]): Promise<void> {
      const past = "2026-01-01T00:00:00.000000Z";
      await db.system((query) =>
        query(
          `update escalations set expires_at = $2::timestamptz, record = jsonb_set(record::jsonb, '{expires_at}', to_jsonb($3::text))::json
           where escalation_id = any($1) and status = 'pending'`,
          [escalation_ids, past, past],
        ),
      );
    }

    async function demandNothingOverdue(): Promise<void> {
      const rows = await db.system((query) =>
        query(
          "select 1 as one from escalations where org_id = $1 and status = 'pending' and expires_at <= clock_timestamp()",
          [org_id],
        ),
      );
      if (rows.length > 0) throw new InvariantBroken(`${rows.length} reviews are open although their time is over`);
    }

    for (let step = 0; step < steps; step++) {
      try {
        for (let n = random.below(3); n >= 0; n--) trace.push(await act());
        await checkPeople(db, org_id, memory, cast.agents.live.lineage_id ?? "", cast.creator.key_id ?? "");
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
