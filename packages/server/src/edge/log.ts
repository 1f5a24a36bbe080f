/** The structured log: one JSON line an event, with nothing in it that opens a door. */
import { formatTimestampUs } from "@countersign/core";
import { type DestinationStream, pino } from "pino";
import type { Log } from "../ports.ts";

/** Least severity that is written. Source: setting LOG_LEVEL. */
export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";

/** The log of the process; `level` is pino's and may be changed while running. */
export interface ProcessLog extends Log {
  level: string;
  /** The same log with these fields on every line. */
  child(fields: object): ProcessLog;
}

const secretFields = new Set([
  "api_key",
  "secret",
  "password",
  "token",
  "authorization",
  "cookie",
  "master_key",
  "master_keys",
  "other_master_keys",
  "x-api-key",
]);
const censored_levels = 3;

/** The shapes a secret has wherever it stands: our keys, webhook secrets, the password in a URL. */
const secretText =
  /\b(svc_(?:live|shadow|test)_[a-z]+_)[0-9A-Za-z]{6,}|\b(whsec_)[0-9A-Za-z+/=_-]{6,}|(\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@"\\]*:)[^\s/@"\\]+(?=@)/g;

/** The line with every API key, webhook secret and URL password replaced by `***`; prefixes stay, so a leak can be traced. */
export function scrub(line: string): string {
  // Nearly no line has one, and to look for these is far cheaper.
  if (!line.includes("svc_") && !line.includes("whsec_") && !line.includes("://")) return line;
  return line.replace(secretText, (_all, key = "", webhook = "", url = "") => `${key}${webhook}${url}***`);
}

/**
 * The fields with the values of secrets replaced, down to `levels` objects deep; the same object when there are none.
 * pino's own `redact` with wildcards took 20 µs a line, more than deciding does; this takes less than one.
 */
function censored(fields: object, levels: number): object {
  if (fields instanceof Error) return fields; // its serializer writes it; its text is scrubbed
  let copy: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(fields)) {
    const inner = levels > 1 && typeof value === "object" && value !== null ? censored(value, levels - 1) : value;
    const shown = secretFields.has(name) ? "***" : inner;
    if (shown !== value) copy = Object.assign(copy ?? { ...fields }, { [name]: shown });
  }
  return copy ?? fields;
}

/**
 * An error as what it says and its plain values. pg hangs the session on its errors: with it a line is long, and cannot be
 * sent from one thread to another. Anything else stays as it is.
 */
export function plainError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const fields = Object.entries(pino.stdSerializers.err(error)).filter(
    ([, value]) => value === null || !["object", "function", "symbol"].includes(typeof value),
  );
  const several = error instanceof AggregateError ? { errors: error.errors.map(plainError) } : {};
  return { ...Object.fromEntries(fields), ...several };
}

/** So much waits for whoever reads the log; where that stands still (a paused terminal, a collector that hangs), the rest is dropped. */
const unread_chars_max = 16 * 1024 * 1024;

/** Where a log goes; a file, which takes all at once, has no `writableLength`. */
type LogStream = Pick<NodeJS.WriteStream, "write"> & { readonly writableLength?: number };

/**
 * Collects what one turn of the event loop writes and hands it on in one piece. Writing to a file or a pipe takes 8 µs a
 * line; under load a turn has dozens. Whatever ends the process by its own code, the rest is written before it goes. What
 * could not be written, as on a full disk, may have left half a line: the next one begins behind it. Lines for which there
 * was no room are counted in one that stands where they would have stood.
 */
export function onceATurn(stream: LogStream): DestinationStream {
  let pending = "";
  let pending_lines = 0;
  let dropped_lines = 0;
  let torn = false;
  const written = (error?: Error | null) => {
    if (error) torn = true;
  };
  const flush = () => {
    if (pending === "") return;
    if ((stream.writableLength ?? 0) > unread_chars_max) {
      dropped_lines += pending_lines;
    } else {
      const text = `${torn ? "\n" : ""}${dropped_lines === 0 ? "" : droppedLine(dropped_lines)}${pending}`;
      torn = false;
      dropped_lines = 0;
      stream.write(text, written);
    }
    pending = "";
    pending_lines = 0;
  };
  process.once("exit", flush);
  return {
    write(text: string) {
      if (pending === "") setImmediate(flush);
      pending += text;
      pending_lines += 1;
    },
  };
}

function droppedLine(lines: number): string {
  const msg = "lines were dropped here: nobody read the log";
  return `${JSON.stringify({ level: "warn", time: new Date().toISOString(), lines, msg })}\n`;
}

/**
 * A log that writes to standard output (or `sink`), one line each, times in RFC 3339.
 *
 * Secrets are kept out twice: fields with a secret's name are censored wherever they stand up to three levels deep, and the
 * finished line is searched for the shapes of secrets (error messages and causes carry them in prose; about 1 µs a line).
 */
export function createLog(level: LogLevel, sink: DestinationStream = onceATurn(process.stdout)): ProcessLog {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${formatTimestampUs(Date.now() * 1000).slice(0, -"000Z".length)}Z"`,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => censored(fields, censored_levels) as Record<string, unknown>,
      },
      serializers: { error: plainError, err: plainError },
    },
    { write: (line: string) => void sink.write(scrub(line)) },
  );
}
