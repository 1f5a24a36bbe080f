/** Turns of the event loop, so many pieces of work in each. */

/**
 * Bytes of one turn's pieces together, if there is more than one. Work on a body grows with its values, and a value has two bytes at
 * least. Sixteen bodies of the usual size have less.
 */
const turn_bytes_max = 32_768;

/**
 * Hands on what has gathered, at most `pieces_max` and `turn_bytes_max` in each turn from the next one on: first come, first served. What follows then runs
 * for all of them step by step, each step's code and data in the processor's caches. Not too many: the database waits for what
 * a turn decides, and whoever comes meanwhile for its end.
 */
export function createTurns(pieces_max: number): (go: () => void, bytes: number) => void {
  const waiting: { readonly go: () => void; readonly bytes: number }[] = [];

  function handOn(): void {
    let pieces = 0;
    let turn_bytes = 0;
    for (const { bytes } of waiting) {
      turn_bytes += bytes;
      if (pieces === pieces_max || (pieces > 0 && turn_bytes > turn_bytes_max)) break;
      pieces += 1;
    }
    const now = waiting.splice(0, pieces);
    if (waiting.length > 0) setImmediate(handOn);
    for (const { go } of now) go();
  }

  return (go, bytes) => {
    if (waiting.push({ go, bytes }) === 1) setImmediate(handOn);
  };
}
