/** A part of a text: from `start` up to, not including, `end`. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds where any of many texts stands in another, in time that grows with all their lengths together (Aho and Corasick): an
 * agent may send ten thousand texts that a policy hides, and one of half a megabyte to look for them in. None is empty.
 */
export class TextFinder {
  /** Shortest first. */
  private readonly texts: readonly string[];
  /** How many of them are looked for so far, and their length together. */
  private taken = 0;
  private chars = 0;
  /** Nodes by the node above and the UTF-16 unit that leads on from it, hashed; 0 (the root) where there is none. */
  private children = new Int32Array(1);
  private above = new Int32Array(1);
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
    this.build(this.texts.slice(0, this.taken));
  }

  private build(texts: readonly string[]): void {
    const nodes = this.chars + 1;
    this.children = new Int32Array(2 ** Math.ceil(Math.log2(nodes * 2)));
    this.above = new Int32Array(nodes);
    this.units = new Uint16Array(nodes);
    this.fallbacks = new Int32Array(nodes);
    this.lengths = new Int32Array(nodes);
    const depths = new Int32Array(nodes);
    let count = 1;
    for (const text of texts) {
      let node = 0;
      for (let i = 0; i < text.length; i++) {
        const slot = this.slotOf(node, text.charCodeAt(i));
        if (this.children[slot] === 0) {
          this.children[slot] = count;
          this.above[count] = node;
          this.units[count] = text.charCodeAt(i);
          depths[count] = i;
          count++;
        }
        node = this.children[slot] as number;
      }
      this.lengths[node] = text.length;
    }
    for (const node of byDepth(depths.subarray(0, count))) {
      const from = this.above[node] as number;
      if (from !== 0) this.fallbacks[node] = this.after(this.fallbacks[from] as number, this.units[node] as number);
      this.lengths[node] ||= this.lengths[this.fallbacks[node] as number] as number;
    }
  }

  /** Whether one of the texts stands in this one. */
  isIn(text: string): boolean {
    return this.scan(text, () => true);
  }

  /** This text with `by` in the place of each of the texts; of those that overlap, once in the place of all. */
  replaceIn(text: string, by: string): string {
    const spans: Span[] = [];
    this.scan(text, (found) => {
      let { start } = found;
      for (let last = spans.at(-1); last !== undefined && last.end > start; last = spans.at(-1)) {
        start = Math.min(start, last.start);
        spans.pop();
      }
      spans.push({ start, end: found.end });
      return false;
    });
    let at = 0;
    const kept = spans.map(({ start, end }) => {
      const before = text.slice(at, start);
      at = end;
      return before + by;
    });
    return kept.join("") + text.slice(at);
  }

  /** Tells of the longest of the texts at each place where one ends, until `seen` says that this will do. */
  private scan(text: string, seen: (found: Span) => boolean): boolean {
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
      const next = this.children[this.slotOf(node, unit)] as number;
      if (next !== 0 || node === 0) return next;
    }
  }

  /** Where the child of a node stands among `children`, or would stand. */
  private slotOf(node: number, unit: number): number {
    const mask = this.children.length - 1;
    let hash = Math.imul(node, 0x9e3779b1) ^ Math.imul(unit + 1, 0x85ebca6b);
    hash ^= hash >>> 15;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const child = this.children[slot] as number;
      if (child === 0 || (this.above[child] === node && this.units[child] === unit)) return slot;
    }
  }
}

/** The nodes but for the root, those near to it first: a fallback is nearer than its node. */
function byDepth(depths: Int32Array): Int32Array {
  const starts = new Int32Array(depths.reduce((most, depth) => Math.max(most, depth), 0) + 2);
  for (const depth of depths.subarray(1)) starts[depth + 1] = (starts[depth + 1] as number) + 1;
  for (let depth = 1; depth < starts.length; depth++)
    starts[depth] = (starts[depth] as number) + (starts[depth - 1] as number);
  const nodes = new Int32Array(depths.length - 1);
  for (let node = 1; node < depths.length; node++) {
    const depth = depths[node] as number;
    const at = starts[depth] as number;
    nodes[at] = node;
    starts[depth] = at + 1;
  }
  return nodes;
}
