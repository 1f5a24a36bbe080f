/**
 * Limits the attempts in flight at each receiver. Each quickly accepted event raises its share by one, and each failure
 * halves it. With a fixed share of 64, 12 hanging receivers would hold every place that is not reserved.
 */
import { large_bytes, type Room } from "../../store/webhooks/delivery-queue.ts";
import type { DeliveryTerms } from "./delivery-terms.ts";

/** A slower attempt does not raise the share. */
const quick_ms = 1_000;
/** Shares of idle receivers that are kept. */
const remembered_max = 256;

interface ReceiverKey {
  readonly org_id: string;
  readonly webhook_id: string;
}

function receiverKey({ org_id, webhook_id }: ReceiverKey): string {
  return `${org_id} ${webhook_id}`;
}

interface Share {
  readonly receiver: ReceiverKey;
  /** Attempts in flight. */
  n: number;
  share: number;
}

export class ReceiverShares {
  readonly #shares = new Map<string, Share>();
  readonly #organizations = new Map<string, number>();
  /** Bytes of large bodies, by organization. */
  readonly #large = new Map<string, number>();
  readonly #terms: DeliveryTerms;
  #in_flight = 0;
  /** Attempts that running leases may begin, and their bytes. */
  #claimed = 0;
  #claimed_large = 0;

  constructor(terms: DeliveryTerms) {
    this.#terms = terms;
  }

  get in_flight(): number {
    return this.#in_flight;
  }

  inFlightOf(org_id: string): number {
    return this.#organizations.get(org_id) ?? 0;
  }

  /** Returns how many attempts may begin. The reserve is for the organization's first attempts, up to `few`. */
  placesOf(org_id: string): number {
    const { slots, reserve, few, per_organization } = this.#terms;
    const own = this.inFlightOf(org_id);
    const free = slots - this.#in_flight - this.#claimed;
    return Math.max(0, Math.min(per_organization - own, Math.max(Math.min(free, few - own), free - reserve)));
  }

  /**
   * Returns the room for one lease. If others wait, it is a share of at least `few` places, because each lease is a
   * statement.
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

  /** Half of the share, because a large lease costs little more than a small one. */
  hasRoom(receiver: ReceiverKey): boolean {
    const known = this.#shares.get(receiverKey(receiver));
    return known === undefined || known.n * 2 <= known.share;
  }

  /** `large_bytes`: the body's bytes if it is large, else 0. */
  begin(receiver: ReceiverKey, large_bytes = 0): void {
    const key = receiverKey(receiver);
    const known = this.#shares.get(key) ?? { receiver, n: 0, share: this.#terms.per_webhook.first };
    this.#shares.set(key, known);
    known.n += 1;
    this.#in_flight += 1;
    this.#organizations.set(receiver.org_id, this.inFlightOf(receiver.org_id) + 1);
    this.#addLarge(receiver, large_bytes);
  }

  /** `taken`: the receiver accepted the event. Null: nothing was sent, or the service failed. */
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

  /** If there are too many shares, drops the one that was idle longest. */
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
