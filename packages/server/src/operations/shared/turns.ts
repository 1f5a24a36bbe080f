/** Bodies with more bytes are large. The work on a body grows with its values, which have at least two bytes each. */
const small_bytes_max = 4_096;

/**
 * Longer pieces are long. Other requests need several turns, so one long piece per turn would delay them several times.
 */
const long_ms = 2;

/**
 * After a long piece, the holder's next large piece waits this many times as long, because the body must still be
 * decided and stored.
 */
const rest_factor = 3;
const rest_ms_max = 250;

function afterPiece(took_ms: number, next: () => void): void {
  if (took_ms > long_ms) setTimeout(next, Math.min(took_ms * rest_factor, rest_ms_max));
  else next();
}

interface Line {
  readonly holder: string;
  readonly waiting: (() => void)[];
  busy: boolean;
}

/**
 * Returns a function that queues work for a holder. Each turn of the event loop runs at most `pieces_max` small pieces
 * in order, and one large piece, with holders in turn. So small pieces never wait behind large ones, and a large piece
 * waits for at most one of each other holder.
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
