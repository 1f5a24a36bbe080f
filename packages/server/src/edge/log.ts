/** The structured log. Writes JSON lines and redacts secrets. */
import { formatTimestampUs } from "@countersign/core";
import { type DestinationStream, pino } from "pino";
import type { Log } from "../ports.ts";

/** The lowest severity that is written (setting LOG_LEVEL). */
export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";

/** The log of the process. `level` is pino's and may be changed while running. */
export interface ProcessLog extends Log {
  level: string;
  /** Returns a log that adds these fields to every line. */
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
  "agent_token",
  "agent-token",
]);
const censored_levels = 3;

/** The shapes of secrets anywhere in a text: our keys, webhook secrets, the password in a URL, tokens (JWT). */
const secretText =
  /\b(svc_(?:live|shadow|test)_[a-z]+_)[0-9A-Za-z]{6,}|\b(whsec_)[0-9A-Za-z+/=_-]{6,}|(\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@"\\]*:)[^\s/@"\\]+(?=@)|\b(eyJ)[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g;

/**
 * Returns the line with every API key, webhook secret, URL password and token replaced by `***`. Prefixes stay, so that a leak
 * can be traced.
 */
export function scrub(line: string): string {
  // Nearly no line has a secret, and these searches are much cheaper.
  if (!["svc_", "whsec_", "://", "eyJ"].some((part) => line.includes(part))) return line;
  return line.replace(
    secretText,
    (_all, key = "", webhook = "", url = "", jwt = "") => `${key}${webhook}${url}${jwt}***`,
  );
}

/**
 * Returns the fields with the values of secrets replaced, down to `levels` objects deep. Without secrets it returns the
 * same object. pino's own `redact` with wildcards took 20 µs a line, more than a decision; this takes less than 1 µs.
 */
function censored(fields: object, levels: number): object {
  if (fields instanceof Error) return fields; // The serializer writes the error, and its text is scrubbed.
  let copy: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(fields)) {
    const inner = levels > 1 && typeof value === "object" && value !== null ? censored(value, levels - 1) : value;
    const shown = secretFields.has(name) ? "***" : inner;
    if (shown !== value) copy = Object.assign(copy ?? { ...fields }, { [name]: shown });
  }
  return copy ?? fields;
}

/**
 * Returns an error as its message and its plain values, and any other value unchanged. pg attaches the session to its
 * errors. A line with the session is long, and cannot be sent between threads.
 */
export function plainError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const fields = Object.entries(pino.stdSerializers.err(error)).filter(
    ([, value]) => value === null || !["object", "function", "symbol"].includes(typeof value),
  );
  const several = error instanceof AggregateError ? { errors: error.errors.map(plainError) } : {};
  return { ...Object.fromEntries(fields), ...several };
}

/**
 * Maximum number of characters that wait for the reader of the log. If the reader is blocked (a paused terminal, a
 * collector that hangs), further lines are dropped.
 */
const unread_chars_max = 16 * 1024 * 1024;

/** The target of a log. A file accepts all text at once and has no `writableLength`. */
type LogStream = Pick<NodeJS.WriteStream, "write"> & { readonly writableLength?: number };

/**
 * Collects the lines of one turn of the event loop and writes them in one piece. A write to a file or a pipe takes 8
 * µs; under load a turn has dozens of lines.
 *
 * If the process ends itself, the rest is written first. A failed write, for example on a full disk, may leave half a
 * line, so the next write starts with a line break. A line with the number of dropped lines is written in their place.
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
  const msg = "lines were dropped here: the log was not read fast enough";
  return `${JSON.stringify({ level: "warn", time: new Date().toISOString(), lines, msg })}\n`;
}

/**
 * Creates a log that writes to standard output (or `sink`), one line each, with times in RFC 3339.
 *
 * Secrets are redacted in two steps. First, fields with a secret's name are censored up to three levels deep. Then the
 * finished line is searched for the shapes of secrets, because error messages and causes may contain them (about 1 µs a
 * line).
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
