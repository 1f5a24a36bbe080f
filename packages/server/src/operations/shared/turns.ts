/** Turns of the event loop, so many pieces of work in each. */

/** A piece with more bytes is large. The work on a body grows with its values, and each value has at least two bytes. */
const small_bytes_max = 4_096;

/**
 * Returns a function that queues work. Each turn of the event loop runs at most `pieces_max` small pieces and one large piece, in the
 * order in which they came. So a small piece never waits behind many large ones. The pieces of a turn go through the same steps
 * together, which keeps code and data in the processor's caches. A turn must stay short, because the database and all other
 * requests wait for its end.
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
