/** Reads answers that come line by line, such as those of backtests. */
import { apiErrorOf, ConnectionError } from "./errors.ts";

export const lines_type = "application/x-ndjson";

type Line = { readonly error?: unknown; readonly progress?: unknown };

/**
 * Returns the last line and passes each line to `onLine`, whose promise delays the next line. Throws an error in the
 * last line as for a status, and any error of `onLine`, and then closes the connection.
 */
export async function lastLine(
  response: Response,
  url: string,
  onLine: ((line: unknown) => void | Promise<void>) | undefined,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  let last: Line = { progress: null };
  for await (const line of linesOf(response, url, signal)) {
    last = line;
    await onLine?.(line);
  }
  if (last.progress !== undefined) throw new ConnectionError(url, ended_early);
  if (last.error === undefined) return last;
  throw apiErrorOf({ status: 500, statusText: "", headers: response.headers }, JSON.stringify(last));
}

const ended_early = "the answer ended early";

/** Throws the signal's reason, else a ConnectionError. */
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
    // Has no effect if everything was read. A broken connection would report its error again.
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
