interface Ending {
  readonly is_busy: boolean;
  end(): Promise<void>;
}

/** A limited number of conversations. A new one replaces the idle one that was used longest ago. */
export class KnownConversations<Conversation extends Ending> {
  readonly #max: number;
  /** The least recently used one comes first. */
  readonly #known = new Map<string, Conversation>();

  constructor(max: number) {
    this.#max = max;
  }

  get(key: string): Conversation | undefined {
    const known = this.#known.get(key);
    if (known !== undefined) this.#known.delete(key);
    if (known !== undefined) this.#known.set(key, known);
    return known;
  }

  /** Returns false if all others are busy. */
  add(key: string, conversation: Conversation): boolean {
    if (this.#known.size >= this.#max) {
      const [idle] = [...this.#known].filter(([, { is_busy }]) => !is_busy);
      if (idle === undefined) return false;
      this.#known.delete(idle[0]);
      void idle[1].end();
    }
    this.#known.set(key, conversation);
    return true;
  }

  delete(key: string): void {
    this.#known.delete(key);
  }

  async end(): Promise<void> {
    await Promise.all([...this.#known.values()].map((each) => each.end()));
  }
}
