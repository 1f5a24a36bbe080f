/** Turns of the event loop, so many pieces of work in each. */

/**
 * Hands on what has gathered, `pieces_max` in each turn from the next one on: first come, first served. What follows then runs
 * for all of them step by step, each step's code and data in the processor's caches. Not too many: the database waits for what
 * a turn decides, and whoever comes meanwhile for its end.
 */
export function createTurns(pieces_max: number): (go: () => void) => void {
  const waiting: (() => void)[] = [];

  function handOn(): void {
    const pieces = waiting.splice(0, pieces_max);
    if (waiting.length > 0) setImmediate(handOn);
    for (const go of pieces) go();
  }

  return (go) => {
    if (waiting.push(go) === 1) setImmediate(handOn);
  };
}
