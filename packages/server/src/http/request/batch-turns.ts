/**
 * Batches of one caller are parsed and decided in turns: of the others only the bytes are there. With 64 batches of 50 under way,
 * all of them parsed, everything that was alive was copied by each collection of garbage, and a decision took a sixth more of
 * the thread's time (measured; eight such batches at once have as many decisions a second as there are to be had, four have
 * fewer, as the database waits for them). Each caller has turns of its own: nobody waits for somebody else's.
 */

/** Of bodies, as they came: eight batches of 50 of the usual size. One that is larger has a turn alone. */
const turn_bytes_max = 327_680;

/** The turns of one node. */
export interface BatchTurns {
  /** Does the work when it is its turn: first come, first served. `holder` is whose it is, `bytes` how large. */
  within<Result>(holder: string, bytes: number, work: () => Promise<Result>): Promise<Result>;
}

interface Line {
  bytes: number;
  readonly waiting: { readonly bytes: number; readonly go: () => void }[];
}

/** Creates them. */
export function createBatchTurns(bytes_max = turn_bytes_max): BatchTurns {
  const lines = new Map<string, Line>();

  const fits = (line: Line, bytes: number): boolean => line.bytes === 0 || line.bytes + bytes <= bytes_max;

  function enter(holder: string, bytes: number): Promise<void> | undefined {
    const line = lines.get(holder) ?? { bytes: 0, waiting: [] };
    lines.set(holder, line);
    if (line.waiting.length > 0 || !fits(line, bytes)) return new Promise((go) => line.waiting.push({ bytes, go }));
    line.bytes += bytes;
    return undefined;
  }

  function leave(holder: string, bytes: number): void {
    const line = lines.get(holder) as Line;
    line.bytes -= bytes;
    for (let next = line.waiting[0]; next !== undefined && fits(line, next.bytes); next = line.waiting[0]) {
      line.waiting.shift();
      line.bytes += next.bytes;
      next.go();
    }
    if (line.bytes === 0) lines.delete(holder);
  }

  return {
    async within(holder, bytes, work) {
      await enter(holder, bytes);
      try {
        return await work();
      } finally {
        leave(holder, bytes);
      }
    },
  };
}
