/** Turns of the event loop, so many pieces of work in each. */

/** A piece of more bytes is large. Work on a body grows with its values, and a value has two bytes at least. */
const small_bytes_max = 4_096;

/**
 * Hands on what has gathered, `pieces_max` small pieces and one large piece in each turn from the next one on: first come, first
 * served among its like. So nobody with a small piece waits behind somebody's many large ones. What follows runs for all pieces of a
 * turn step by step, each step's code and data in the processor's caches. Not too many: the database waits for what a turn
 * decides, and whoever comes meanwhile for its end.
 */
export function createTurns(pieces_max: number): (go: () => void, bytes: number) => void {
  const small: (() => void)[] = [];
  const large: (() => void)[] = [];

  function handOn(): void {
    const pieces = [...small.splice(0, pieces_max), ...large.splice(0, 1)];
    if (small.length + large.length > 0) setImmediate(handOn);
    for (const go of pieces) go();
  }

  return (go, bytes) => {
    (bytes > small_bytes_max ? large : small).push(go);
    if (small.length + large.length === 1) setImmediate(handOn);
  };
}
