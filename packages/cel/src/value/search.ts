/**
 * The engine searches for parts up to this length. For longer parts it can take the product of both lengths: 32 s for
 * 0.2 MB in 0.6 MB. An agent may choose both.
 */
const engine_max = 32;

/** Same as `text.indexOf(part, from)`, in linear time. */
export function indexIn(text: string, part: string, from = 0): number {
  if (part.length <= engine_max) return text.indexOf(part, from);
  return part.length > text.length - from ? -1 : scan(text, part, bordersOf(part), from, text.length, false);
}

/** Same as `text.lastIndexOf(part, at)`, in linear time. */
export function lastIndexIn(text: string, part: string, at: number): number {
  if (part.length <= engine_max) return text.lastIndexOf(part, at);
  return part.length > text.length ? -1 : scan(text, part, bordersOf(part), 0, at + part.length, true);
}

/** Same as `text.split(by)`, in linear time. */
export function splitAt(text: string, by: string): string[] {
  if (by.length <= engine_max) return text.split(by);
  const pieces: string[] = [];
  const borders = by.length > text.length ? null : bordersOf(by);
  let at = 0;
  while (borders !== null) {
    const found = scan(text, by, borders, at, text.length, false);
    if (found < 0) break;
    pieces.push(text.slice(at, found));
    at = found + by.length;
  }
  pieces.push(text.slice(at));
  return pieces;
}

/** Returns the failure table of Knuth, Morris and Pratt. */
function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length);
  let length = 0;
  for (let i = 1; i < part.length; i++) {
    length = longer(part, borders, length, part.charCodeAt(i));
    borders[i] = length;
  }
  return borders;
}

function longer(part: string, borders: Uint32Array, met: number, next: number): number {
  let length = met;
  while (length > 0 && part.charCodeAt(length) !== next) length = borders[length - 1] as number;
  return part.charCodeAt(length) === next ? length + 1 : length;
}

function scan(text: string, part: string, borders: Uint32Array, from: number, to: number, last: boolean): number {
  const end = Math.min(to, text.length);
  let found = -1;
  let met = 0;
  for (let i = from; i < end; i++) {
    met = longer(part, borders, met, text.charCodeAt(i));
    if (met < part.length) continue;
    found = i + 1 - part.length;
    if (!last) return found;
    met = borders[met - 1] as number;
  }
  return found;
}
