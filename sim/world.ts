/**
 * A small world around the commit writer: three nodes on one real database, organizations, and a scheduler that draws
 * everything that happens from one seed.
 *
 * Every statement of a node stops at a gate before it is sent. A step starts a few actions, opens some of the gates in
 * a drawn order with a drawn fate, and then checks the invariants; statements left at their gates go on in later steps,
 * after epochs were raised and keys were taken under them. Gates are opened one by one, which makes a run repeatable, except in the steps
 * that race on purpose: there the head row is locked first, the statements are seen to wait for it, and only then the
 * change under which they waited is committed. That is the case in which a statement's snapshot is older than its locks.
 */

import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { formatTimestampUs } from "@countersign/core";
import { createIds } from "../packages/server/src/edge/ids.ts";
import type { Clock, Db, Log, Timers } from "../packages/server/src/ports.ts";
import { auditRow } from "../packages/server/src/store/audit/audit.ts";
import type { ConnectCommit } from "../packages/server/src/store/commit/commit-writer.ts";
import type { Epochs } from "../packages/server/src/store/organizations/epochs.ts";
import { createHead, type HeadChanges, withHead } from "../packages/server/src/store/organizations/heads.ts";
import { decisionRows } from "../packages/server/src/testing/database/decision-rows.ts";
import { checkInvariants, InvariantBroken } from "./invariants.ts";
import type { Journal, Submission } from "./journal.ts";
import { type Fate, type Gate, type SimNode, startNode } from "./node.ts";
import { createRandom } from "./random.ts";

/** What a world stands on. */
export interface WorldSetting {
  readonly db: Db;
  readonly connect: ConnectCommit;
  readonly log: Log;
}

/** How a run ended: sound, or the first broken promise with what led to it. */
export type RunResult =
  | { readonly sound: true; readonly submissions: number; readonly told: Readonly<Record<string, number>> }
  | { readonly sound: false; readonly step: number; readonly problem: string; readonly trace: readonly string[] };

/** A node that neither answers nor sends for so long has lost somebody's request. */
const stuck_ms = 60_000;
const none: Epochs = { auth: 0, policy: 0, context: 0 };
const start_us = Date.UTC(2026, 10, 30, 23, 50) * 1000;

/** Runs one world. */
export async function runWorld(seed: number, setting: WorldSetting, steps = 10): Promise<RunResult> {
  const random = createRandom(seed);
  const { db } = setting;
  let now_us = start_us;
  const clock: Clock = { now_us: () => (now_us += 1) };
  // Waiting takes no time here, it only moves the clock; so a lost database is given up after a dozen turns.
  const timers: Timers = {
    after(wait_ms, run) {
      now_us += wait_ms * 1000;
      const immediate = setImmediate(run);
      return () => clearImmediate(immediate);
    },
  };
  const ids = createIds({ now_us: () => Date.now() * 1000 });
  const journal: Journal = {
    organizations: [],
    submissions: new Map(),
    headChanges: new Map(),
    epochs: new Map(),
    broken: [],
    trace: [],
  };
  const nodes: SimNode[] = [];
  const pending = new Set<Promise<unknown>>();
  let born = 0;

  const note = (text: string) => void journal.trace.push(text);
  const killSessions = () =>
    db.system(async (query) => {
      // The sessions log in as whoever the tests run as; the role that a superuser steps down to may not end them.
      await query("set local role none");
      await query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'countersign commit writer' and datname = current_database()",
      );
    });
  const addNode = () => nodes.push(startNode(`node${++born}`, random, { ...setting, clock, timers, killSessions }));

  function submit(
    node: SimNode,
    org_id: string,
    idempotency_key: string | undefined,
    request: string,
    retries: number,
  ): void {
    const poison = random.chance(0.04);
    const rows = decisionRows(ids, org_id, {
      epochs: node.beliefs.get(org_id) ?? none,
      mode: random.chance(0.75) ? "live" : "shadow",
      created_at: formatTimestampUs(clock.now_us()),
      escalate: random.chance(0.1),
      event: random.chance(0.5),
      request,
      ...(idempotency_key === undefined ? {} : { idempotency_key }),
      ...(poison ? { intent: '{"not json' } : {}),
    });
    const submission: Submission = { rows, poison, told: { outcome: "waiting" } };
    journal.submissions.set(rows.intent.intent_id, submission);
    const answered = node.writer.commit(rows).then(
      (outcome) => {
        if (node.dead) submission.told = { outcome: "unknown" };
        else submission.told = outcome;
        const held = journal.epochs.get(org_id) ?? none;
        const { auth, policy, context } = rows.epochs;
        if (
          outcome.outcome === "duplicate" &&
          (auth !== held.auth || policy !== held.policy || context !== held.context)
        ) {
          journal.broken.push(`${rows.intent.intent_id} was replayed under epochs that were raised before`);
        }
        if (outcome.outcome !== "stale" || node.dead) return;
        node.beliefs.set(org_id, outcome.epochs);
        if (retries > 0) submit(node, org_id, idempotency_key, request, retries - 1);
      },
      (error: { code?: string }) => {
        submission.told = { outcome: node.dead || error.code === "unavailable" ? "unknown" : "refused" };
        if (submission.told.outcome === "refused" && error.code !== "overloaded" && !poison) {
          journal.broken.push(`${rows.intent.intent_id} is in order and was refused: ${error}`);
        }
      },
    );
    track(answered);
  }

  function track(promise: Promise<unknown>): void {
    pending.add(promise);
    void promise.finally(() => pending.delete(promise));
  }

  function drawChange(): HeadChanges {
    const audit = [
      auditRow(ids, {
        intent_id: null,
        type: "membrane_changed",
        actor: "system",
        at: formatTimestampUs(now_us),
        data: { n: random.below(9) },
      }),
    ];
    const raise = random.pick([["auth"], ["policy"], ["context"], ["auth", "policy"], [], []] as const);
    return { audit, raise, ...(random.chance(0.2) ? { webhooks_delta: 1, raise: ["policy"] as const } : {}) };
  }

  /** Changes a head; `meanwhile` runs while it is locked and the change is not committed. */
  async function changeHead(org_id: string, changes: HeadChanges, meanwhile?: () => Promise<void>): Promise<void> {
    const audit_id = changes.audit[0]?.audit_id ?? "";
    const epochs = await db.tenant(org_id, async (query) => {
      const head = await withHead(query, org_id, changes);
      const after = { auth: head.auth_epoch, policy: head.policy_epoch, context: head.context_epoch };
      journal.headChanges.set(audit_id, { org_id, audit_id, changes, epochs: after });
      await meanwhile?.();
      return after;
    });
    journal.epochs.set(org_id, epochs);
  }

  const gates = (): Gate[] => nodes.flatMap((node) => node.gates);

  /** Waits until every node is idle or stands at a gate. */
  async function quiet(): Promise<void> {
    const until_ms = performance.now() + stuck_ms;
    for (let looks = 0; performance.now() < until_ms; looks++) {
      // Usually a few turns are enough; opening a session takes a while, and the server needs the processor for it.
      await (looks < 20 ? turn() : pause(1));
      if (nodes.every((node) => node.writer.depth() === 0 || node.gates.length > 0)) return;
    }
    throw new InvariantBroken(
      `${nodes.map((node) => `${node.name}: ${node.writer.depth()}`).join(", ")} and nobody at a gate`,
    );
  }

  async function open(gate: Gate, fate: Fate): Promise<void> {
    note(`${gate.node.name} ${fate}`);
    await gate.release(fate);
    await quiet();
  }

  const drawFate = (): Fate =>
    random.chance(0.8) ? "run" : random.pick(["lost_before", "lost_after", "deadlock", "killed"] as const);

  /** Opens every gate while the head is locked, sees the statements wait, and commits the change before them. */
  async function race(org_id: string): Promise<void> {
    const changes = drawChange();
    note(`race on ${org_id}: raise ${changes.raise}`);
    const waiting = new Set(gates());
    const released: Promise<unknown>[] = [];
    await changeHead(org_id, changes, async () => {
      for (const gate of waiting) released.push(gate.release("run").finally(() => waiting.delete(gate)));
      const until_ms = performance.now() + stuck_ms;
      while (performance.now() < until_ms) {
        const [locks] = await db.system((query) =>
          query<{ n: number }>(
            // Not wait_event: it is hidden from a session that has stepped down to another role.
            `select count(distinct l.pid)::integer as n from pg_locks l join pg_stat_activity a on a.pid = l.pid
             where not l.granted and a.datname = current_database()`,
          ),
        );
        // A node's statements share a session: behind the one that waits for the lock the others wait for it.
        if ((locks?.n ?? 0) >= new Set([...waiting].map((gate) => gate.node)).size) return;
      }
      throw new Error("the statements neither end nor wait");
    });
    await Promise.all(released);
    await quiet();
  }

  async function act(): Promise<void> {
    const node = random.pick(nodes);
    const org_id = random.pick(journal.organizations);
    const draw = random.below(100);
    if (draw < 62) {
      const many = random.chance(0.1) ? 12 : 1 + random.below(4);
      note(`${node.name} submits ${many} for ${org_id}`);
      for (let n = 0; n < many; n++) {
        const key = random.chance(0.5) ? `key${random.below(6)}` : undefined;
        submit(node, org_id, key, `request${random.below(2)}`, 2);
      }
    } else if (draw < 68) {
      const changes = drawChange();
      note(`${org_id} raises ${changes.raise}`);
      await changeHead(org_id, changes);
    } else if (draw < 80) {
      await race(org_id);
    } else if (draw < 84) {
      note(`${node.name} loses the way to the database`);
      node.refusals = random.pick([1, 3, 30]);
      await killSessions();
    } else if (draw < 88) {
      note("the clock moves on into the next month");
      now_us += 11 * 60_000_000;
    } else if (draw < 95) {
      const head = await db.tenant(org_id, (query) => withHead(query, org_id, () => null));
      if (head.hard_limit !== null)
        await changeHead(org_id, { ...drawChange(), hard_limit: head.hard_limit + 1 + random.below(4) });
    } else {
      note(`${node.name} dies`);
      node.dead = true;
      nodes.splice(nodes.indexOf(node), 1);
      for (const gate of [...node.gates]) await gate.release(random.pick(["lost_before", "lost_after"] as const));
      track(node.writer.settle());
      addNode();
    }
    await quiet();
  }

  for (const hard_limit of [null, 3 + random.below(6)]) {
    const org_id = ids.next("organization");
    await db.tenant(org_id, (query) => createHead(query, org_id, "2026-11", hard_limit));
    journal.organizations.push(org_id);
  }
  for (let n = 0; n < 3; n++) addNode();

  let step = 0;
  try {
    for (; step < steps; step++) {
      for (let n = random.below(3); n >= 0; n--) await act();
      for (let n = random.below(4); n > 0 && gates().length > 0; n--) await open(random.pick(gates()), drawFate());
      await checkInvariants(db, journal);
    }
    // In the end everything heals and everybody gets an answer.
    for (const node of nodes) node.refusals = 0;
    await quiet();
    while (gates().length > 0) await open(gates()[0] as Gate, "run");
    await Promise.all(nodes.map((node) => node.writer.close()));
    while (pending.size > 0) await Promise.all(pending);
    await checkInvariants(db, journal);
    return { sound: true, submissions: journal.submissions.size, told: tally(journal) };
  } catch (error) {
    if (!(error instanceof InvariantBroken)) throw error;
    return { sound: false, step, problem: error.message, trace: journal.trace };
  } finally {
    // Whoever still stands at a gate is let go, so that no session outlives a failed run.
    for (const node of nodes) node.dead = true;
    for (let gate = gates()[0]; gate !== undefined; gate = gates()[0]) await gate.release("lost_before");
    await Promise.all(nodes.map((node) => node.writer.close()));
  }
}

function tally(journal: Journal): Record<string, number> {
  const told: Record<string, number> = {};
  for (const submission of journal.submissions.values())
    told[submission.told.outcome] = (told[submission.told.outcome] ?? 0) + 1;
  return told;
}
