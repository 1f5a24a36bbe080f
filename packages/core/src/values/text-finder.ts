import type { TextSpan } from "@countersign/contract";

/**
 * Finds any of many texts (Aho-Corasick). Linear time, because an agent may send ten thousand redacted texts and half a
 * megabyte to search. No hashing, because an agent could choose colliding texts. No text may be empty.
 */
export class TextFinder {
  /** Shortest first. */
  private readonly texts: readonly string[];
  private taken = 0;
  private chars = 0;
  /**
   * Nodes are numbered by depth; the root is 0. Children have the numbers from `below[node]` to `below[node + 1]`,
   * sorted by UTF-16 unit.
   */
  private below = new Int32Array(2);
  private units = new Uint16Array(1);
  /** By node, the node of its longest proper suffix that is a prefix of a text. */
  private fallbacks = new Int32Array(1);
  /** By node, the length of the longest text that ends there, or 0. */
  private lengths = new Int32Array(1);

  constructor(texts: readonly string[]) {
    this.texts = [...texts].sort((a, b) => a.length - b.length);
  }

  /**
   * Adds only texts that fit into the searched text, because many are longer. Each rebuild at least doubles the
   * automaton, so all rebuilds cost at most twice the last one.
   */
  private takeUpTo(length: number): void {
    if ((this.texts[this.taken]?.length ?? Number.POSITIVE_INFINITY) > length) return;
    const enough = this.chars * 2;
    for (let text = this.texts[this.taken]; text !== undefined; text = this.texts[this.taken]) {
      if (text.length > length && this.chars + text.length > enough) break;
      this.chars += text.length;
      this.taken++;
    }
    this.build(this.texts.slice(0, this.taken).sort());
  }

  /** `texts` are sorted, so common prefixes are adjacent. */
  private build(texts: readonly string[]): void {
    const nodes = this.chars + 1;
    this.below = new Int32Array(nodes + 1);
    this.units = new Uint16Array(nodes);
    this.fallbacks = new Int32Array(nodes);
    this.lengths = new Int32Array(nodes);
    let count = 1;
    let above = 0;
    this.below[0] = count;
    let going = texts.map((text) => ({ text, node: 0 }));
    for (let depth = 0; going.length > 0; depth++) {
      let [parent, unit] = [-1, -1];
      for (const each of going) {
        const next = each.text.charCodeAt(depth);
        if (each.node !== parent || next !== unit) {
          [parent, unit] = [each.node, next];
          while (above < parent) this.below[++above] = count;
          const fallback = parent === 0 ? 0 : this.after(this.fallbacks[parent] as number, unit);
          this.units[count] = unit;
          this.fallbacks[count] = fallback;
          this.lengths[count] = this.lengths[fallback] as number;
          count++;
        }
        each.node = count - 1;
        if (each.text.length === depth + 1) this.lengths[each.node] = depth + 1;
      }
      going = going.filter(({ text }) => text.length > depth + 1);
    }
    this.below.fill(count, above + 1);
  }

  isIn(text: string): boolean {
    return this.scan(text, () => true);
  }

  /** Returns spans in order, with overlaps merged. */
  spansIn(text: string): TextSpan[] {
    const spans: TextSpan[] = [];
    this.scan(text, (found) => {
      let { start } = found;
      for (let last = spans.at(-1); last !== undefined && last.end > start; last = spans.at(-1)) {
        start = Math.min(start, last.start);
        spans.pop();
      }
      spans.push({ start, end: found.end });
      return false;
    });
    return spans;
  }

  /** Calls `seen` with the longest text at each end, until `seen` returns true. */
  private scan(text: string, seen: (found: TextSpan) => boolean): boolean {
    this.takeUpTo(text.length);
    if (this.taken === 0) return false;
    let node = 0;
    for (let i = 0; i < text.length; i++) {
      node = this.after(node, text.charCodeAt(i));
      const length = this.lengths[node] as number;
      if (length > 0 && seen({ start: i + 1 - length, end: i + 1 })) return true;
    }
    return false;
  }

  private after(from: number, unit: number): number {
    for (let node = from; ; node = this.fallbacks[node] as number) {
      const next = this.child(node, unit);
      if (next !== 0 || node === 0) return next;
    }
  }

  private child(node: number, unit: number): number {
    let from = this.below[node] as number;
    let to = this.below[node + 1] as number;
    const end = to;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.units[middle] as number) < unit) from = middle + 1;
      else to = middle;
    }
    return from < end && this.units[from] === unit ? from : 0;
  }
}
