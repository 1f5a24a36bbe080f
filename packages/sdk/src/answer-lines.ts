/** An answer that comes line by line, as that of a backtest does. */
import { apiErrorOf, ConnectionError } from "./errors.ts";

/** How such answers are asked for, and told. */
export const lines_type = "application/x-ndjson";

type Line = { readonly error?: unknown; readonly progress?: unknown };

/**
 * The last line of an answer, when the others have been heard. Throws the error that it may be, as for a status, and what
 * `onLine` throws: then no more is read, which the service sees.
 */
export async function lastLine(
  response: Response,
  url: string,
  onLine: ((line: unknown) => void) | undefined,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  let last: Line = { progress: null };
  for await (const line of linesOf(response, url, signal)) {
    last = line;
    onLine?.(line);
  }
  if (last.progress !== undefined) throw new ConnectionError(url, ended_early);
  if (last.error === undefined) return last;
  throw apiErrorOf({ status: 500, statusText: "", headers: response.headers }, JSON.stringify(last));
}

const ended_early = "the answer ended early";

/** As they come. Throws the signal's reason, else a ConnectionError. */
async function* linesOf(response: Response, url: string, signal: AbortSignal | undefined): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  const orNone = (error: unknown) => {
    throw signal?.aborted === true ? error : new ConnectionError(url, error);
  };
  let rest = "";
  try {
    for (;;) {
      const read = await reader?.read().catch(orNone);
      if (read?.done !== false) break;
      const parts = (rest + decoder.decode(read.value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) yield parsedLine(part, url);
    }
  } finally {
    // Nothing where all was read; a connection that broke says it a second time.
    await reader?.cancel().catch(() => undefined);
  }
  if (rest !== "") throw new ConnectionError(url, ended_early);
}

function parsedLine(text: string, url: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch (error) {
    throw new ConnectionError(url, error);
  }
}
