/** Turns of the event loop: how long work shares the only thread with everybody else's. */

/** A piece with more bytes is large. The work on a body grows with its values, and each value has at least two bytes. */
const small_bytes_max = 4_096;

/**
 * A piece that takes longer is long. What others ask needs several turns of the loop, so with one long piece a turn they would wait for
 * several of them.
 */
const long_ms = 2;

/**
 * After a long piece, the next large piece of the same holder waits this many times as long as the long one took. The factor is more
 * than 1, because the work on a body is not over with its piece: it is still to be decided and stored.
 */
const rest_factor = 3;
const rest_ms_max = 250;

/** Calls `next`: at once, or after a long piece when others have had their time. */
function afterPiece(took_ms: number, next: () => void): void {
  if (took_ms > long_ms) setTimeout(next, Math.min(took_ms * rest_factor, rest_ms_max));
  else next();
}

/** The large pieces of one holder. */
interface Line {
  readonly holder: string;
  readonly waiting: (() => void)[];
  /** A piece of it is due, or it rests after one. */
  busy: boolean;
}

/**
 * Returns a function that queues work for a holder. Each turn of the event loop runs at most `pieces_max` small pieces, in the order in
 * which they came, and one large piece, of each holder in turn. So a small piece never waits behind large ones, and a large piece
 * only behind one of each other holder. After a long piece the next large one of its holder waits. The small pieces of a turn go
 * through the same steps together, which keeps code and data in the processor's caches.
 */
export function createTurns(pieces_max: number): (go: () => void, bytes: number, holder: string) => void {
  const small: (() => void)[] = [];
  const lines = new Map<string, Line>();
  const ready: Line[] = [];
  let is_large_due = false;

  function runSmall(): void {
    const pieces = small.splice(0, pieces_max);
    if (small.length > 0) setImmediate(runSmall);
    for (const go of pieces) go();
  }

  function scheduleLarge(): void {
    const line = is_large_due ? undefined : ready.shift();
    if (line === undefined) return;
    is_large_due = true;
    let begun_ms = 0;
    setImmediate(() => {
      begun_ms = performance.now();
      line.waiting.shift()?.();
    });
    // Runs in the same turn, right after the piece and all that it sets off at once.
    setImmediate(() => {
      is_large_due = false;
      afterPiece(performance.now() - begun_ms, () => goOn(line));
      scheduleLarge();
    });
  }

  function goOn(line: Line): void {
    line.busy = line.waiting.length > 0;
    if (!line.busy) return void lines.delete(line.holder);
    ready.push(line);
    scheduleLarge();
  }

  function addLarge(go: () => void, holder: string): void {
    const line = lines.get(holder) ?? { holder, waiting: [], busy: false };
    lines.set(holder, line);
    line.waiting.push(go);
    if (!line.busy) goOn(line);
  }

  return (go, bytes, holder) => {
    if (bytes > small_bytes_max) return addLarge(go, holder);
    small.push(go);
    if (small.length === 1) setImmediate(runSmall);
  };
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
