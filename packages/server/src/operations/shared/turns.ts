/** Turns of the event loop: how long work shares the only thread with everybody else's. */

/** A piece with more bytes is large. The work on a body grows with its values, and each value has at least two bytes. */
const small_bytes_max = 4_096;

/**
 * A piece that takes longer is long. What others ask needs several turns of the loop, so with one long piece a turn they would wait for
 * several of them.
 */
const long_ms = 2;

/** After a long piece the thread is left to others for so many times as long as it took. More than once, because the work on a body goes on after its piece: it is decided and stored. */
const rest_factor = 3;

/**
 * Returns a function that queues work. Each turn of the event loop runs at most `pieces_max` small pieces and one large piece, in the
 * order in which they came. So a small piece never waits behind many large ones. The small pieces of a turn go through the same steps
 * together, which keeps code and data in the processor's caches. After a long piece the next large one waits.
 */
export function createTurns(pieces_max: number): (go: () => void, bytes: number) => void {
  const small: (() => void)[] = [];
  const large: (() => void)[] = [];
  let large_begun_ms = 0;
  let is_large_due = false;

  function runSmall(): void {
    const pieces = small.splice(0, pieces_max);
    if (small.length > 0) setImmediate(runSmall);
    for (const go of pieces) go();
  }

  function scheduleLarge(): void {
    is_large_due = large.length > 0;
    if (!is_large_due) return;
    setImmediate(runLarge);
    // Runs in the same turn, right after the piece and all that it sets off at once.
    setImmediate(() => afterPiece(performance.now() - large_begun_ms, scheduleLarge));
  }

  function runLarge(): void {
    large_begun_ms = performance.now();
    large.shift()?.();
  }

  return (go, bytes) => {
    if (bytes <= small_bytes_max) {
      small.push(go);
      if (small.length === 1) setImmediate(runSmall);
    } else {
      large.push(go);
      if (!is_large_due) scheduleLarge();
    }
  };
}

/** Calls `next`: at once, or after a long piece when others have had their time. */
function afterPiece(took_ms: number, next: () => void): void {
  if (took_ms > long_ms) setTimeout(next, took_ms * rest_factor);
  else next();
}

/** Takes the steps one by one, each in a turn of its own. After a long step others have their time first. */
export function inTurns<R>(steps: Generator<void, R>): Promise<R> {
  return new Promise((resolve, reject) => {
    function takeStep(): void {
      const begun_ms = performance.now();
      try {
        const step = steps.next();
        if (step.done === true) resolve(step.value);
        else afterPiece(performance.now() - begun_ms, () => setImmediate(takeStep));
      } catch (error) {
        reject(error);
      }
    }
    takeStep();
  });
}
