/**
 * How many attempts may be in flight at each receiver. A receiver begins with a small share. Each event that it takes
 * quickly raises the share by one, and each failure halves it. So a fast receiver soon has all the places that it can use, and
 * a receiver that hangs holds few. With a fixed share of 64, 12 receivers that hang would hold every place that is not
 * reserved.
 */
import { type ReceiverKey, type Room, receiverKey } from "../../store/webhooks/delivery-queue.ts";

/** Bounds of one node. */
export interface ShareTerms {
  /** Attempts in flight at one receiver: at first, at least and at most. */
  readonly first: number;
  readonly least: number;
  readonly most: number;
}

/** An attempt that took the receiver longer than this does not raise its share. */
const quick_ms = 1_000;
/** How many shares of receivers with nothing in flight are kept. */
const remembered_max = 256;

interface Share {
  /** Attempts in flight. */
  n: number;
  share: number;
}

/** What is in flight on this node, by receiver and by organization. */
export class ReceiverShares {
  readonly #shares = new Map<string, Share>();
  readonly #organizations = new Map<string, number>();
  /** Bytes of large bodies, by organization. */
  readonly #large = new Map<string, number>();
  readonly #terms: ShareTerms;
  #in_flight = 0;

  constructor(terms: ShareTerms) {
    this.#terms = terms;
  }

  /** Attempts in flight at all receivers. */
  get in_flight(): number {
    return this.#in_flight;
  }

  /** Returns what is in flight at each receiver and organization, for a lease. */
  room(): Pick<Room, "receivers" | "organizations" | "per_webhook" | "large"> {
    const receivers = Object.fromEntries(Array.from(this.#shares, ([key, { n, share }]) => [key, [n, share] as const]));
    const known = { receivers, organizations: Object.fromEntries(this.#organizations), per_webhook: this.#terms.first };
    if (this.#large.size === 0) return known;
    const all = [...this.#large.values()].reduce((sum, bytes) => sum + bytes, 0);
    return { ...known, large: { ...Object.fromEntries(this.#large), all } };
  }

  /** Whether half of the receiver's share is free. A lease of many deliveries costs little more than a lease of one. */
  hasRoom(receiver: ReceiverKey): boolean {
    const known = this.#shares.get(receiverKey(receiver));
    return known === undefined || known.n * 2 <= known.share;
  }

  /** `large_bytes`: the body's bytes if it is large, else 0. */
  begin(receiver: ReceiverKey, large_bytes = 0): void {
    const key = receiverKey(receiver);
    const known = this.#shares.get(key) ?? { n: 0, share: this.#terms.first };
    this.#shares.set(key, known);
    known.n += 1;
    this.#in_flight += 1;
    this.#organizations.set(receiver.org_id, (this.#organizations.get(receiver.org_id) ?? 0) + 1);
    this.#addLarge(receiver, large_bytes);
  }

  /** `taken`: whether the receiver took the event; null: nothing was sent, or the service failed. */
  end(receiver: ReceiverKey, taken: boolean | null, duration_ms: number, large_bytes = 0): void {
    const key = receiverKey(receiver);
    const known = this.#shares.get(key);
    if (known === undefined) throw new Error("an attempt ended that never began");
    known.n -= 1;
    this.#in_flight -= 1;
    const left = (this.#organizations.get(receiver.org_id) ?? 1) - 1;
    if (left > 0) this.#organizations.set(receiver.org_id, left);
    else this.#organizations.delete(receiver.org_id);
    this.#addLarge(receiver, -large_bytes);
    const { first, least, most } = this.#terms;
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

  /** Keeps the share, and drops the share of the receiver that was idle longest if there are too many. */
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
