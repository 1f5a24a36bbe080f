/**
 * Limits the attempts in flight at each receiver. A receiver begins with a small share. Each event that it accepts
 * quickly raises the share by one, and each failure halves it. So a fast receiver soon has all the places that it can
 * use, and a hanging receiver holds few. With a fixed share of 64, 12 hanging receivers would hold every place that is
 * not reserved.
 */
import { large_bytes, type Room } from "../../store/webhooks/delivery-queue.ts";
import type { DeliveryTerms } from "./delivery-terms.ts";

/** A slower attempt does not raise the receiver's share. */
const quick_ms = 1_000;
/** How many shares of receivers with nothing in flight are kept. */
const remembered_max = 256;

/** The key of one receiver. */
interface ReceiverKey {
  readonly org_id: string;
  readonly webhook_id: string;
}

/** Names one receiver among all organizations. */
function receiverKey({ org_id, webhook_id }: ReceiverKey): string {
  return `${org_id} ${webhook_id}`;
}

interface Share {
  readonly receiver: ReceiverKey;
  /** Attempts in flight. */
  n: number;
  share: number;
}

/** The attempts in flight on this node by receiver and organization, and the room that is left. */
export class ReceiverShares {
  readonly #shares = new Map<string, Share>();
  readonly #organizations = new Map<string, number>();
  /** Bytes of large bodies, by organization. */
  readonly #large = new Map<string, number>();
  readonly #terms: DeliveryTerms;
  #in_flight = 0;
  /** Totals of the running leases: attempts that they may begin, and bytes of large bodies. */
  #claimed = 0;
  #claimed_large = 0;

  constructor(terms: DeliveryTerms) {
    this.#terms = terms;
  }

  /** Attempts in flight at all receivers. */
  get in_flight(): number {
    return this.#in_flight;
  }

  /** Attempts in flight of one organization. */
  inFlightOf(org_id: string): number {
    return this.#organizations.get(org_id) ?? 0;
  }

  /**
   * Returns how many attempts of an organization may begin, by the bounds of the node and of the organization. The reserve is for
   * its first attempts in flight, up to `few`.
   */
  placesOf(org_id: string): number {
    const { slots, reserve, few, per_organization } = this.#terms;
    const own = this.inFlightOf(org_id);
    const free = slots - this.#in_flight - this.#claimed;
    return Math.max(0, Math.min(per_organization - own, Math.max(Math.min(free, few - own), free - reserve)));
  }

  /**
   * Returns the room for one lease of an organization. If others wait for a turn, the lease gets a share of the places.
   * The share is at least `few`, because each lease is a statement.
   */
  room(org_id: string, others_waiting: number): Room {
    const { few, lease_ms, per_webhook } = this.#terms;
    const places = this.placesOf(org_id);
    const share = Math.max(few, Math.ceil(places / (others_waiting + 1)));
    const receivers: Record<string, number> = {};
    for (const { receiver, n, share: of_receiver } of this.#shares.values())
      if (receiver.org_id === org_id) receivers[receiver.webhook_id] = of_receiver - n;
    const room = { places: Math.min(places, share), receivers, per_webhook: per_webhook.first, lease_ms };
    return { ...room, ...this.#largeRoom(org_id) };
  }

  /** Reserves the room of a lease until the returned function is called. */
  claim({ places, large_bytes: together, lone_bytes }: Room): () => void {
    const large = Math.min(large_bytes.all, Math.max(together, lone_bytes));
    this.#claimed += places;
    this.#claimed_large += large;
    return () => {
      this.#claimed -= places;
      this.#claimed_large -= large;
    };
  }

  #largeRoom(org_id: string): Pick<Room, "large_bytes" | "lone_bytes"> {
    const own = this.#large.get(org_id) ?? 0;
    const all = [...this.#large.values()].reduce((sum, bytes) => sum + bytes, this.#claimed_large);
    const left = large_bytes.all - all;
    const room = Math.max(0, Math.min(large_bytes.organization - own, left));
    if (own > 0) return { large_bytes: room, lone_bytes: 0 };
    return { large_bytes: room, lone_bytes: all === 0 ? Number.MAX_SAFE_INTEGER : Math.max(0, left) };
  }

  /**
   * Returns true if half of the receiver's share is free. A lease of many deliveries costs little more than a lease of
   * one.
   */
  hasRoom(receiver: ReceiverKey): boolean {
    const known = this.#shares.get(receiverKey(receiver));
    return known === undefined || known.n * 2 <= known.share;
  }

  /** Counts a new attempt. `large_bytes`: the body's bytes if it is large, else 0. */
  begin(receiver: ReceiverKey, large_bytes = 0): void {
    const key = receiverKey(receiver);
    const known = this.#shares.get(key) ?? { receiver, n: 0, share: this.#terms.per_webhook.first };
    this.#shares.set(key, known);
    known.n += 1;
    this.#in_flight += 1;
    this.#organizations.set(receiver.org_id, this.inFlightOf(receiver.org_id) + 1);
    this.#addLarge(receiver, large_bytes);
  }

  /**
   * Counts the end of an attempt. `taken`: whether the receiver accepted the event. Null: nothing was sent, or the
   * service failed.
   */
  end(receiver: ReceiverKey, taken: boolean | null, duration_ms: number, large_bytes = 0): void {
    const key = receiverKey(receiver);
    const known = this.#shares.get(key);
    if (known === undefined) throw new Error("an attempt ended that never began");
    known.n -= 1;
    this.#in_flight -= 1;
    const left = this.inFlightOf(receiver.org_id) - 1;
    if (left > 0) this.#organizations.set(receiver.org_id, left);
    else this.#organizations.delete(receiver.org_id);
    this.#addLarge(receiver, -large_bytes);
    const { first, least, most } = this.#terms.per_webhook;
    if (taken === false) known.share = Math.max(least, Math.floor(known.share / 2));
    else if (taken && duration_ms <= quick_ms) known.share = Math.min(most, known.share + 1);
    if (known.n > 0) return;
    this.#shares.delete(key);
    if (known.share !== first) this.#remember(key, known);
  }

  #addLarge({ org_id }: ReceiverKey, bytes: number): void {
    if (bytes === 0) return;
    const sum = (this.#large.get(org_id) ?? 0) + bytes;
    if (sum === 0) this.#large.delete(org_id);
    else this.#large.set(org_id, sum);
  }

  /** Keeps the share. If there are too many, drops the share of the receiver that was idle longest. */
  #remember(key: string, share: Share): void {
    this.#shares.set(key, share);
    if (this.#shares.size <= remembered_max) return;
    for (const [oldest, { n }] of this.#shares) {
      if (n > 0) continue;
      this.#shares.delete(oldest);
      return;
    }
  }
}
