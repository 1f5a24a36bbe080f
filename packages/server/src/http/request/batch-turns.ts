/**
 * Decides batches of one caller in turns. Waiting batches are kept as bytes, because each garbage collection copies
 * parsed ones: 64 at once made a decision 17 % slower.
 */

/** Bytes of concurrent bodies: eight batches of 50. Four reach fewer decisions a second. A larger batch runs alone. */
const turn_bytes_max = 327_680;

export interface BatchTurns {
  /** In the order of arrival. */
  within<Result>(holder: string, bytes: number, work: () => Promise<Result>): Promise<Result>;
}

interface Line {
  bytes: number;
  readonly waiting: { readonly bytes: number; readonly go: () => void }[];
}

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
