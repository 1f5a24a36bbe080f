interface Timed<T> {
  readonly at_us: number;
  /** Items of one time keep their order. */
  readonly order: number;
  readonly item: T;
}

/** A binary heap: returns items in the order of their times. */
export class TimedQueue<T> {
  readonly #heap: Timed<T>[] = [];
  #pushed = 0;

  get size(): number {
    return this.#heap.length;
  }

  push(at_us: number, item: T): void {
    const added = { at_us, order: this.#pushed, item };
    this.#pushed += 1;
    let place = this.#heap.push(added) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!isBefore(added, this.#at(parent))) break;
      this.#heap[place] = this.#at(parent);
      place = parent;
    }
    this.#heap[place] = added;
  }

  /** Removes and returns the first item up to this time; null: none. */
  takeUntil(now_us: number): T | null {
    const first = this.#heap[0];
    if (first === undefined || first.at_us > now_us) return null;
    const last = this.#heap.pop() as Timed<T>;
    if (this.#heap.length > 0) this.#sink(last);
    return first.item;
  }

  #at(place: number): Timed<T> {
    return this.#heap[place] as Timed<T>;
  }

  #sink(moved: Timed<T>): void {
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= this.#heap.length) break;
      if (child + 1 < this.#heap.length && isBefore(this.#at(child + 1), this.#at(child))) child += 1;
      if (!isBefore(this.#at(child), moved)) break;
      this.#heap[place] = this.#at(child);
      place = child;
    }
    this.#heap[place] = moved;
  }
}

function isBefore<T>(a: Timed<T>, b: Timed<T>): boolean {
  return a.at_us === b.at_us ? a.order < b.order : a.at_us < b.at_us;
}
