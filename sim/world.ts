/**
 * Simulates the commit writer: three nodes on a real database, organizations, and a scheduler. One seed draws
 * everything.
 *
 * Every statement stops at a gate. A step opens some gates in a drawn order with a drawn fate, and checks the
 * invariants. Other statements wait for later steps, after epochs were raised and idempotency keys were taken.
 *
 * Gates open one by one, so a run is repeatable, except in racing steps: they lock the head row, wait until the
 * statements wait for it, and commit a change. So a statement's snapshot is older than its locks.
 */

import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { formatTimestampUs } from "@countersign/core";
import { createIds } from "../packages/server/src/edge/ids.ts";
import type { Clock, Db, Log, Timers } from "../packages/server/src/ports.ts";
import { auditRow } from "../packages/server/src/store/audit/audit.ts";
import type { ConnectCommit } from "../packages/server/src/store/commit/commit-writer.ts";
import type { CommitOutcome } from "../packages/server/src/store/commit/commit-writer-rows.ts";
import type { Epochs } from "../packages/server/src/store/organizations/epochs.ts";
import { createHead, type HeadChanges, withHead } from "../packages/server/src/store/organizations/heads.ts";
import { decisionRows } from "../packages/server/src/testing/database/decision-rows.ts";
import { checkInvariants, countAll, countSome, InvariantBroken } from "./invariants.ts";
import type { Journal, Submission } from "./journal.ts";
import { type Fate, type Gate, type SimNode, startNode } from "./node.ts";
import { createRandom, type Random } from "./random.ts";

export interface WorldSetting {
  readonly db: Db;
  readonly connect: ConnectCommit;
  readonly log: Log;
}

export type RunResult =
  | { readonly sound: true; readonly submissions: number; readonly told: Readonly<Record<string, number>> }
  | { readonly sound: false; readonly step: number; readonly problem: string; readonly trace: readonly string[] };

/** A node that neither answers nor sends for this long has lost a request. */
const stuck_ms = 60_000;
const none: Epochs = { auth: 0, policy: 0, context: 0 };
const start_us = Date.UTC(2026, 10, 30, 23, 50) * 1000;

export async function runWorld(seed: number, setting: WorldSetting, steps = 10): Promise<RunResult> {
  const world = new CommitWorld(createRandom(seed), setting);
  const { journal } = world;
  await world.prepare();
  let step = 0;
  try {
    for (; step < steps; step++) await world.step();
    await world.heal();
    return { sound: true, submissions: journal.submissions.size, told: tally(journal) };
  } catch (error) {
    if (!(error instanceof InvariantBroken)) throw error;
    return { sound: false, step, problem: error.message, trace: journal.trace };
  } finally {
    await world.end();
  }
}

interface Request {
  readonly org_id: string;
  readonly idempotency_key: string | undefined;
  readonly request: string;
  /** Number of further submissions allowed after a stale commit. */
  readonly retries: number;
}

class CommitWorld {
  readonly journal: Journal = {
    organizations: [],
    submissions: new Map(),
    headChanges: new Map(),
    epochs: new Map(),
    broken: [],
    trace: [],
  };
  readonly #random: Random;
  readonly #setting: WorldSetting;
  #now_us = start_us;
  readonly #clock: Clock = { now_us: () => (this.#now_us += 1) };
  /** Waiting only advances the clock, so a node gives up a lost database after a dozen turns. */
  readonly #timers: Timers = {
    after: (wait_ms, run) => {
      this.#now_us += wait_ms * 1000;
      const immediate = setImmediate(run);
      return () => clearImmediate(immediate);
    },
  };
  readonly #ids = createIds({ now_us: () => Date.now() * 1000 });
  readonly #nodes: SimNode[] = [];
  #born = 0;
  readonly #pending = new Set<Promise<unknown>>();

  constructor(random: Random, setting: WorldSetting) {
    this.#random = random;
    this.#setting = setting;
  }

  async prepare(): Promise<void> {
    for (const hard_limit of [null, 3 + this.#random.below(6)]) {
      const org_id = this.#ids.next("organization");
      await this.#setting.db.tenant(org_id, (query) => createHead(query, org_id, "2026-11", hard_limit));
      this.journal.organizations.push(org_id);
    }
    for (let n = 0; n < 3; n++) this.#addNode();
  }

  async step(): Promise<void> {
    const random = this.#random;
    for (let n = random.below(3); n >= 0; n--) await this.#act();
    for (let n = random.below(4); n > 0 && this.#gates().length > 0; n--)
      await this.#open(random.pick(this.#gates()), this.#drawFate());
    await countSome(this.#setting.db, this.journal.organizations);
    await checkInvariants(this.#setting.db, this.journal);
  }

  /** Heals everything and waits until every request has its answer. */
  async heal(): Promise<void> {
    for (const node of this.#nodes) node.refusals = 0;
    await this.#quiet();
    while (this.#gates().length > 0) await this.#open(this.#gates()[0] as Gate, "run");
    await Promise.all(this.#nodes.map((node) => node.writer.close()));
    while (this.#pending.size > 0) await Promise.all(this.#pending);
    await countAll(this.#setting.db, this.journal.organizations);
    await checkInvariants(this.#setting.db, this.journal);
  }

  /** Ends every node and releases all gates, so that no session outlives a failed run. */
  async end(): Promise<void> {
    for (const node of this.#nodes) node.dead = true;
    for (let gate = this.#gates()[0]; gate !== undefined; gate = this.#gates()[0]) await gate.release("lost_before");
    await Promise.all(this.#nodes.map((node) => node.writer.close()));
  }

  async #act(): Promise<void> {
    const random = this.#random;
    const node = random.pick(this.#nodes);
    const org_id = random.pick(this.journal.organizations);
    const draw = random.below(100);
    if (draw < 62) this.#submitSome(node, org_id);
    else if (draw < 68) await this.#raise(org_id);
    else if (draw < 80) await this.#race(org_id);
    else if (draw < 84) await this.#loseDatabase(node);
    else if (draw < 88) this.#passMonth();
    else if (draw < 95) await this.#raiseLimit(org_id);
    else await this.#die(node);
    await this.#quiet();
  }

  #submitSome(node: SimNode, org_id: string): void {
    const random = this.#random;
    const many = random.chance(0.1) ? 12 : 1 + random.below(4);
    this.#note(`${node.name} submits ${many} for ${org_id}`);
    for (let n = 0; n < many; n++) {
      const idempotency_key = random.chance(0.5) ? `key${random.below(6)}` : undefined;
      this.#submit(node, { org_id, idempotency_key, request: `request${random.below(2)}`, retries: 2 });
    }
  }

  #submit(node: SimNode, asked: Request): void {
    const random = this.#random;
    const { org_id, idempotency_key, request } = asked;
    const poison = random.chance(0.04);
    const rows = decisionRows(this.#ids, org_id, {
      epochs: node.beliefs.get(org_id) ?? none,
      mode: random.chance(0.75) ? "live" : "shadow",
      created_at: formatTimestampUs(this.#clock.now_us()),
      escalate: random.chance(0.1),
      event: random.chance(0.5),
      request,
      ...(idempotency_key === undefined ? {} : { idempotency_key }),
      ...(poison ? { intent: '{"not json' } : {}),
    });
    const submission: Submission = { rows, poison, told: { outcome: "waiting" } };
    this.journal.submissions.set(rows.entry.intent_id, submission);
    const answered = node.writer.commit(rows).then(
      (outcome) => this.#takeOutcome(node, asked, submission, outcome),
      (error: { code?: string }) => this.#takeError(node, submission, error),
    );
    this.#track(answered);
  }

  #takeOutcome(node: SimNode, asked: Request, submission: Submission, outcome: CommitOutcome): void {
    submission.told = node.dead ? { outcome: "unknown" } : outcome;
    const { org_id, epochs, entry } = submission.rows;
    const held = this.journal.epochs.get(org_id) ?? none;
    const changed = epochs.auth !== held.auth || epochs.policy !== held.policy || epochs.context !== held.context;
    if (outcome.outcome === "duplicate" && changed)
      this.journal.broken.push(`${entry.intent_id} was replayed under epochs that were raised before`);
    if (outcome.outcome !== "stale" || node.dead) return;
    node.beliefs.set(org_id, outcome.epochs);
    if (asked.retries > 0) this.#submit(node, { ...asked, retries: asked.retries - 1 });
  }

  #takeError(node: SimNode, submission: Submission, error: { readonly code?: string }): void {
    submission.told = { outcome: node.dead || error.code === "unavailable" ? "unknown" : "refused" };
    if (submission.told.outcome !== "refused" || error.code === "overloaded" || submission.poison) return;
    this.journal.broken.push(`${submission.rows.entry.intent_id} is in order and was refused: ${error}`);
  }

  async #raise(org_id: string): Promise<void> {
    const changes = this.#drawChange();
    this.#note(`${org_id} raises ${changes.raise}`);
    await this.#changeHead(org_id, changes);
  }

  /** Opens every gate while the head is locked, waits until the statements wait, and commits the change before them. */
  async #race(org_id: string): Promise<void> {
    const changes = this.#drawChange();
    this.#note(`race on ${org_id}: raise ${changes.raise}`);
    const waiting = new Set(this.#gates());
    const released: Promise<unknown>[] = [];
    await this.#changeHead(org_id, changes, async () => {
      for (const gate of waiting) released.push(gate.release("run").finally(() => waiting.delete(gate)));
      await this.#seeThemWait(waiting);
    });
    await Promise.all(released);
    await this.#quiet();
  }

  /** Waits until the statements of all these gates have ended or wait for a lock. */
  async #seeThemWait(waiting: ReadonlySet<Gate>): Promise<void> {
    const until_ms = performance.now() + stuck_ms;
    while (performance.now() < until_ms) {
      const [locks] = await this.#setting.db.system((query) =>
        query<{ n: number }>(
          // A session that switched roles cannot see wait_event, so use pg_locks.
          `select count(distinct l.pid)::integer as n from pg_locks l join pg_stat_activity a on a.pid = l.pid
           where not l.granted and a.datname = current_database()`,
        ),
      );
      // A node's statements share a session, so those behind a waiting statement wait, too.
      if ((locks?.n ?? 0) >= new Set([...waiting].map((gate) => gate.node)).size) return;
    }
    throw new Error("the statements neither end nor wait");
  }

  async #loseDatabase(node: SimNode): Promise<void> {
    this.#note(`${node.name} loses its database connection`);
    node.refusals = this.#random.pick([1, 3, 30]);
    await this.#killSessions();
  }

  #passMonth(): void {
    this.#note("the clock moves on into the next month");
    this.#now_us += 11 * 60_000_000;
  }

  async #raiseLimit(org_id: string): Promise<void> {
    const head = await this.#setting.db.tenant(org_id, (query) => withHead(query, org_id, () => null));
    if (head.hard_limit === null) return;
    const hard_limit = head.hard_limit + 1;
    const changes = this.#drawChange();
    await this.#changeHead(org_id, { ...changes, hard_limit: hard_limit + this.#random.below(4) });
  }

  async #die(node: SimNode): Promise<void> {
    this.#note(`${node.name} dies`);
    node.dead = true;
    this.#nodes.splice(this.#nodes.indexOf(node), 1);
    for (const gate of [...node.gates]) await gate.release(this.#random.pick(["lost_before", "lost_after"] as const));
    this.#track(node.writer.settle());
    this.#addNode();
  }

  #drawChange(): HeadChanges {
    const random = this.#random;
    const about = { intent_id: null, type: "notifications_changed", actor: "system" } as const;
    const at = formatTimestampUs(this.#now_us);
    const audit = [auditRow(this.#ids, { ...about, at, data: { n: random.below(9) } })];
    const raise = random.pick([["auth"], ["policy"], ["context"], ["auth", "policy"], [], []] as const);
    return { audit, raise, ...(random.chance(0.2) ? { webhooks_delta: 1, raise: ["policy"] as const } : {}) };
  }

  /** Changes a head. `meanwhile` runs while the head is locked and the change is not committed. */
  async #changeHead(org_id: string, changes: HeadChanges, meanwhile?: () => Promise<void>): Promise<void> {
    const audit_id = changes.audit[0]?.audit_id ?? "";
    const epochs = await this.#setting.db.tenant(org_id, async (query) => {
      const head = await withHead(query, org_id, changes);
      const after = { auth: head.auth_epoch, policy: head.policy_epoch, context: head.context_epoch };
      this.journal.headChanges.set(audit_id, { org_id, audit_id, changes, epochs: after });
      await meanwhile?.();
      return after;
    });
    this.journal.epochs.set(org_id, epochs);
  }

  #drawFate(): Fate {
    if (this.#random.chance(0.8)) return "run";
    return this.#random.pick(["lost_before", "lost_after", "lost_some", "deadlock", "killed"] as const);
  }

  async #open(gate: Gate, fate: Fate): Promise<void> {
    this.#note(`${gate.node.name} ${fate}`);
    await gate.release(fate);
    await this.#quiet();
  }

  async #quiet(): Promise<void> {
    const until_ms = performance.now() + stuck_ms;
    for (let looks = 0; performance.now() < until_ms; looks++) {
      // A few turns are usually enough, but opening a session takes longer and needs CPU time for the server.
      await (looks < 20 ? turn() : pause(1));
      if (this.#nodes.every((node) => node.writer.depth() === 0 || node.gates.length > 0)) return;
    }
    const depths = this.#nodes.map((node) => `${node.name}: ${node.writer.depth()}`).join(", ");
    throw new InvariantBroken(`${depths} and no statement at a gate`);
  }

  #gates(): Gate[] {
    return this.#nodes.flatMap((node) => node.gates);
  }

  #note(text: string): void {
    this.journal.trace.push(text);
  }

  #track(promise: Promise<unknown>): void {
    this.#pending.add(promise);
    void promise.finally(() => this.#pending.delete(promise));
  }

  #addNode(): void {
    this.#born += 1;
    const parts = { clock: this.#clock, timers: this.#timers, killSessions: () => this.#killSessions() };
    this.#nodes.push(startNode(`node${this.#born}`, this.#random, { ...this.#setting, ...parts }));
  }

  #killSessions(): Promise<void> {
    return this.#setting.db.system(async (query) => {
      // The sessions use the tests' own role, which the role after a switch may not end.
      await query("set local role none");
      await query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'countersign commit writer' and datname = current_database()",
      );
    });
  }
}

function tally(journal: Journal): Record<string, number> {
  const told: Record<string, number> = {};
  for (const submission of journal.submissions.values())
    told[submission.told.outcome] = (told[submission.told.outcome] ?? 0) + 1;
  return told;
}
