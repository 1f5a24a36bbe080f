import type { TextSpan } from "@countersign/contract";

/**
 * Finds where any of many texts stands in another, in time that grows with all their lengths together (Aho and Corasick): an
 * agent may send ten thousand texts that a policy hides, and one of half a megabyte to look for them in. Nothing is hashed:
 * who chooses the texts would choose those that collide. None is empty.
 */
export class TextFinder {
  /** Shortest first. */
  private readonly texts: readonly string[];
  /** How many of them are looked for so far, and their length together. */
  private taken = 0;
  private chars = 0;
  /**
   * Nodes by number, the root 0, those near to it first. Those below one stand side by side, from `below[node]` up to
   * `below[node + 1]`, by the UTF-16 unit that leads to each.
   */
  private below = new Int32Array(2);
  private units = new Uint16Array(1);
  /** The node of the longest beginning of a text that what leads to a node ends with. */
  private fallbacks = new Int32Array(1);
  /** Length of the longest text that what leads to a node ends with. */
  private lengths = new Int32Array(1);

  constructor(texts: readonly string[]) {
    this.texts = [...texts].sort((a, b) => a.length - b.length);
  }

  /**
   * Takes in the texts that can stand in one of this length: the longest hidden one is often longer than all that is searched.
   * Each time twice as much as before, if there is as much, so that all times together cost no more than the last two.
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

  /** `texts` in order, so that those which begin alike stand side by side. */
  private build(texts: readonly string[]): void {
    const nodes = this.chars + 1;
    this.below = new Int32Array(nodes + 1);
    this.units = new Uint16Array(nodes);
    this.fallbacks = new Int32Array(nodes);
    this.lengths = new Int32Array(nodes);
    let count = 1;
    let above = 0;
    this.below[0] = count;
    // All texts unit by unit, each with the node that it has come to.
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

  /** Whether one of the texts stands in this one. */
  isIn(text: string): boolean {
    return this.scan(text, () => true);
  }

  /** Where one of the texts stands in this one, in order; those that overlap as one. */
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

  /** Tells of the longest of the texts at each place where one ends, until `seen` says that this will do. */
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

  /** The node below this one that the unit leads to; 0 where there is none. */
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
