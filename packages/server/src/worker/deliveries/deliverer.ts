/**
 * The deliverer, the second machine: leases due deliveries and sends each one once. Each receiver, each organization
 * and the node has a bound for attempts in flight. Organizations take turns, and a turn is one statement. A turn claims
 * its room, so two turns at once do not exceed a bound.
 *
 * An organization wakes when:
 * - The dispatcher made deliveries, a person retried one, or the wait before its next attempt is over.
 * - An attempt ended, its receiver had more due than room, and half of the receiver's share is free.
 * - A bound prevented a lease. Since then 32 attempts ended, or half of those in flight.
 * - A look found due deliveries, and no attempt in flight will wake the organization.
 */
import type { Runtime } from "../../operations/runtime.ts";
import { remembering } from "../../operations/shared/sealer.ts";
import { type Attempt, attemptDelivery, interruptedAttempt } from "../../operations/webhooks/attempt-delivery.ts";
import {
  type LeasedDelivery,
  largeBytes,
  leaseDue,
  organizationsWithDue,
} from "../../store/webhooks/delivery-queue.ts";
import type { Courtesy } from "./courtesy.ts";
import type { DeliveryTerms } from "./delivery-terms.ts";
import { type Looks, startLooks } from "./looks.ts";
import { ReceiverShares } from "./receiver-shares.ts";
import { inTurns, type Turns } from "./turns.ts";

/** Concurrent statements. */
const lanes = 2;
/** After a bound prevented a lease, this many attempts must end before the next one. */
const lease_after_ends = 32;
/** An attempt may take 10 s, but the service must end within 10 s. */
const stop_wait_ms = 4_000;

type DelivererRuntime = Pick<Runtime, "db" | "clock" | "timers" | "log" | "sealer" | "httpOut">;

export class Deliverer {
  readonly #runtime: DelivererRuntime;
  readonly #courtesy: Courtesy;
  readonly #settle: (attempt: Attempt) => void;
  readonly #shares: ReceiverShares;
  readonly #turns: Turns;
  readonly #looks: Looks;
  /** In microseconds since 1970. */
  readonly #began = new Map<LeasedDelivery, number>();
  /** By organization: webhooks that had more due than room at its latest lease. */
  readonly #more = new Map<string, ReadonlySet<string>>();
  /** Organizations without room for a lease. True: the latest turn had places. */
  readonly #blocked = new Map<string, boolean>();
  /** Ended attempts, in total and when the first blocked organization had its turn. */
  #ended = 0;
  #ended_before_block = 0;
  #stopped = false;
  /** For `stop`: no attempt is in flight. */
  #onIdle: () => void = () => undefined;
  readonly #cancelWaits = new Set<() => void>();

  /** The first look follows at once. */
  constructor(runtime: DelivererRuntime, terms: DeliveryTerms, courtesy: Courtesy, settle: (attempt: Attempt) => void) {
    const { db, log } = runtime;
    this.#runtime = { ...runtime, sealer: remembering(runtime.sealer) };
    this.#courtesy = courtesy;
    this.#settle = settle;
    this.#shares = new ReceiverShares(terms);
    this.#turns = inTurns(log, lanes, (org_id) => this.#lease(org_id));
    this.#looks = startLooks(
      runtime,
      () => db.system(organizationsWithDue),
      (org_id) => {
        if (!this.#willBeWoken(org_id)) this.wake(org_id);
      },
    );
  }

  /** Must be called when the organization has due deliveries. */
  wake(org_id: string): void {
    this.#turns.add(org_id);
  }

  /** Must be called when deliveries become due after `wait_ms`. */
  wakeAfter(org_id: string, wait_ms: number): void {
    if (this.#stopped) return;
    const cancel = this.#runtime.timers.after(wait_ms + 1, () => {
      this.#cancelWaits.delete(cancel);
      this.wake(org_id);
    });
    this.#cancelWaits.add(cancel);
  }

  /** Waits 4 s for attempts in flight, and hands the rest to the settler as interrupted. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#cancelWaits) cancel();
    await Promise.all([this.#looks.stop(), this.#turns.stop()]);
    if (this.#shares.in_flight > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
        this.#runtime.timers.after(stop_wait_ms, resolve);
      });
    for (const [leased, at_us] of this.#began) this.#settle(interruptedAttempt(this.#runtime, leased, at_us));
    this.#began.clear();
  }

  /** True: the end of an attempt will wake the organization. Without room, another turn would lease nothing. */
  #willBeWoken(org_id: string): boolean {
    return this.#shares.inFlightOf(org_id) > 0 && (this.#more.has(org_id) || this.#blocked.has(org_id));
  }

  /** Returns whether the organization needs another turn. */
  async #lease(org_id: string): Promise<boolean> {
    await this.#courtesy.rest();
    if (this.#stopped) return false;
    const room = this.#shares.room(org_id, this.#turns.waiting());
    if (room.places === 0) {
      this.#block(org_id, false, this.#ended);
      return false;
    }
    this.#blocked.delete(org_id);
    const ended_before = this.#ended;
    const release = this.#shares.claim(room);
    const { deliveries, more, blocked } = await leaseDue(this.#runtime.db, org_id, room).finally(release);
    if (more.length > 0) this.#more.set(org_id, new Set(more));
    else this.#more.delete(org_id);
    for (const each of deliveries) void this.#send(each);
    if (blocked) {
      // The organization used its share of the places, and others have room for it.
      if (deliveries.length === room.places && this.#shares.placesOf(org_id) > 0) return true;
      this.#block(org_id, true, ended_before);
    }
    // Attempts may have ended while the statement ran.
    this.#unblock();
    return this.#ended > ended_before && more.some((webhook_id) => this.#shares.hasRoom({ org_id, webhook_id }));
  }

  #block(org_id: string, had_turn: boolean, ended_before: number): void {
    if (this.#blocked.size === 0) this.#ended_before_block = ended_before;
    this.#blocked.set(org_id, had_turn);
  }

  /** A large lease costs little more than a small one. Organizations without places come first. */
  #unblock(): void {
    const ended = this.#ended - this.#ended_before_block;
    if (ended === 0 || (ended < lease_after_ends && ended < this.#shares.in_flight)) return;
    const blocked = [...this.#blocked];
    this.#blocked.clear();
    for (const with_turn of [false, true])
      for (const [org_id, had_turn] of blocked) if (had_turn === with_turn) this.wake(org_id);
  }

  async #send(leased: LeasedDelivery): Promise<void> {
    const { clock, log } = this.#runtime;
    const bytes = largeBytes(leased);
    this.#shares.begin(leased, bytes);
    this.#began.set(leased, clock.now_us());
    let attempt: Attempt | null = null;
    try {
      attempt = await attemptDelivery(this.#runtime, leased);
    } catch (error) {
      // The service failed, not the receiver. The lease expires, and another attempt follows.
      log.error({ err: error, delivery_id: leased.delivery_id }, "an attempt failed");
    }
    const result = attempt?.result ?? null;
    this.#shares.end(leased, result && result.error === null, result?.duration_ms ?? 0, bytes);
    // After a stop the settler already has this attempt.
    if (this.#began.delete(leased) && attempt !== null) this.#settle(attempt);
    if (this.#shares.in_flight === 0) this.#onIdle();
    this.#ended += 1;
    const { org_id, webhook_id } = leased;
    if (this.#more.get(org_id)?.has(webhook_id) && this.#shares.hasRoom(leased)) this.wake(org_id);
    this.#unblock();
  }
}
