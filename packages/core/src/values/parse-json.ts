/** Parses bytes from callers into JSON that later code can trust. */
import { isUtf8 } from "node:buffer";
import { isExactNumber, limits, type Problem } from "@countersign/contract";
import { Fault } from "../fault.ts";
import { clipText } from "./clip-text.ts";
import { pointerToken } from "./json-patch.ts";

const unstorable = /\0|\p{Surrogate}/u;

/** Faults: invalid_request, and as `parseInParts`. */
export function parseJson(bytes: Buffer): unknown {
  const { value, examine } = parseInParts(bytes, limits.json_depth_max);
  const problems = examine(value);
  if (problems.length > 0) throw new Fault("invalid_request", { details: problems.map((problem) => ({ ...problem })) });
  return value;
}

export interface JsonInParts {
  readonly value: unknown;
  /** Returns the problems for which `parseJson` answers invalid_request. Faults: invalid_json (too many levels). */
  readonly examine: (part: unknown) => readonly Problem[];
}

/**
 * Faults: payload_too_large (more than `values_max` values); invalid_json, also for more than `depth_max` levels. Below
 * 16 KiB only `examine` checks the depth.
 */
export function parseInParts(
  bytes: Buffer,
  depth_max: number,
  values_max: number = limits.json_values_max,
): JsonInParts {
  if (bytes.length === 0) throw notJson("The body is empty.");
  if (!isUtf8(bytes)) throw notJson("The body is not UTF-8.");
  const { members, inexact } = measureShape(
    bytes,
    bytes.length > small_bytes_max ? depth_max : Number.POSITIVE_INFINITY,
    values_max,
  );
  const text = bytes.toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw notJson("The body is not one JSON text.", cause);
  }
  if (members !== membersOf(value)) throw notJson(twiceMessage(bytes));
  // Without \u escapes there is no NUL or lone surrogate. Two fast searches are then enough.
  const escapes = text.includes("\\u");
  const keys = escapes || text.includes('"__proto__"');
  if (inexact.length > 0) value = JSON.parse(marked(bytes, inexact));
  return { value, examine: (part) => (clean(part, 1, keys, escapes) ? [] : problemsOf(part)) };
}

function notJson(message: string, cause?: unknown): Fault {
  return new Fault("invalid_json", { details: [{ path: "", code: "bad_format", message }], cause });
}

function tooDeep(depth_max: number): Fault {
  return notJson(`Nest at most ${depth_max} levels deep.`);
}

/**
 * Larger texts are measured first, because 8 MiB of `[` or `{},` would block the thread for seconds. Smaller bodies are
 * parsed first, so that the items of a batch fail separately.
 */
const small_bytes_max = 16_384;

/**
 * Refuses a text with too many levels or values, in a third of JSON.parse's time. Returns the number of members, and
 * the places of numbers that a double may not represent exactly.
 */
function measureShape(
  bytes: Buffer,
  depth_max: number,
  values_max: number,
): { members: number; inexact: readonly Place[] } {
  let depth = 0;
  let values = 1;
  let members = 0;
  const inexact: Place[] = [];
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case 0x22: // "
        for (at++; at < bytes.length && bytes[at] !== 0x22; at++) if (bytes[at] === 0x5c) at++;
        break;
      case 0x7b: // {
      case 0x5b: // [
        values++;
        if (++depth > depth_max) throw tooDeep(depth_max);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
      case 0x2c: // ,
        values++;
        break;
      case 0x3a: // :
        members++;
        break;
      default:
        if (startsNumber(bytes[at])) {
          const from = at;
          while (isOfNumber(bytes[at + 1])) at++;
          if (!isHeld(bytes, from, at + 1)) inexact.push({ from, to: at + 1 });
        }
    }
  }
  if (values > values_max) throw new Fault("payload_too_large", { details: [{ values_max }] });
  return { members, inexact };
}

interface Place {
  readonly from: number;
  readonly to: number;
}

function startsNumber(byte = 0): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2d;
}

function isOfNumber(byte = 0): boolean {
  return startsNumber(byte) || byte === 0x2e || byte === 0x2b || byte === 0x65 || byte === 0x45;
}

const held_chars_max = 15;

/** A double represents fifteen digits exactly. */
function isHeld(bytes: Buffer, from: number, to: number): boolean {
  if (to - from <= held_chars_max && !hasExponent(bytes, from, to)) return true;
  return isExactNumber(bytes.toString("latin1", from, to));
}

function hasExponent(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] === 0x65 || bytes[at] === 0x45) return true;
  return false;
}

/** Replaces a number that a double cannot represent exactly. The rounded number could be mistaken for another. */
const inexact_mark = Number.NEGATIVE_INFINITY;

/** Returns the text with these numbers replaced by `inexact_mark`, or by infinity if too large. */
function marked(bytes: Buffer, places: readonly Place[]): string {
  const copy = Buffer.from(bytes);
  for (const { from, to } of places) {
    const is_finite = Number.isFinite(Number(bytes.toString("latin1", from, to)));
    // Both fit: the shortest numbers of their kind are 1e-324 and 2e308.
    copy.fill(" ", from, to).write(is_finite ? "-1e999" : "1e999", from, "latin1");
  }
  return copy.toString("utf8");
}

/** Not recursive, because a small text may be nested thousands of levels deep. */
function membersOf(value: unknown): number {
  let members = 0;
  const within = [value];
  const enter = (part: unknown): void => {
    if (typeof part === "object" && part !== null) within.push(part);
  };
  while (within.length > 0) {
    const part = within.pop();
    if (Array.isArray(part)) part.forEach(enter);
    else if (typeof part === "object" && part !== null) {
      for (const name in part) {
        members++;
        enter((part as Record<string, unknown>)[name]);
      }
    }
  }
  return members;
}

/**
 * Reports a name that occurs twice. JSON.parse takes the last value, other programs the first, so the caller could
 * execute another action than the decided one.
 */
function twiceMessage(bytes: Buffer): string {
  const objects: Set<string>[] = [];
  let from = 0;
  let to = 0;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case 0x22: // "
        from = at;
        for (at++; bytes[at] !== 0x22; at++) if (bytes[at] === 0x5c) at++;
        to = at + 1;
        break;
      case 0x7b: // {
        objects.push(new Set());
        break;
      case 0x7d: // }
        objects.pop();
        break;
      // The string before a colon is a name.
      case 0x3a: {
        const name = bytes.toString("utf8", from, to);
        const key: string = name.includes("\\") ? JSON.parse(name) : name.slice(1, -1);
        const names = objects.at(-1);
        if (names?.has(key)) return `Use each name of an object once: ${clipText(name, 200)} occurs twice.`;
        names?.add(key);
        break;
      }
    }
  }
  throw new Error("no name occurs twice");
}

/** Returns false if `problemsOf` would report a problem. Throws if the value is nested too deeply. */
function clean(value: unknown, depth: number, keys: boolean, texts: boolean): boolean {
  if (typeof value === "string") return !texts || !unstorable.test(value);
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth > limits.json_depth_max) throw tooDeep(limits.json_depth_max);
  if (Array.isArray(value)) {
    for (const item of value) if (!clean(item, depth + 1, keys, texts)) return false;
    return true;
  }
  for (const key in value) {
    if (keys && (key === "__proto__" || unstorable.test(key))) return false;
    if (!clean((value as Record<string, unknown>)[key], depth + 1, keys, texts)) return false;
  }
  return true;
}

/**
 * Finds values that no body may contain. `__proto__` would change prototypes. PostgreSQL cannot store NUL and lone
 * surrogates. Numbers beyond a double would become null, inexact ones would be rounded.
 */
function problemsOf(body: unknown): Problem[] {
  const problems: Problem[] = [];
  const add = (path: string, code: Problem["code"], message: string): void => {
    if (problems.length < limits.error_details_max) problems.push({ path, code, message });
  };
  const character = "Remove NUL characters and lone surrogates.";
  function look(value: unknown, path: string, depth: number): void {
    if (depth > limits.json_depth_max || problems.length >= limits.error_details_max) return;
    if (typeof value === "string" && unstorable.test(value)) add(path, "forbidden_character", character);
    if (value === inexact_mark) add(path, "out_of_range", inexact);
    else if (typeof value === "number" && !Number.isFinite(value))
      add(path, "not_a_number", "Send a number below 1.8e308.");
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      const place = `${path}/${pointerPart(key)}`;
      if (key === "__proto__") add(place, "forbidden_key", "Remove the key __proto__.");
      else if (unstorable.test(key)) add(path, "forbidden_character", character);
      look(member, place, depth + 1);
    }
  }
  look(body, "", 0);
  return problems;
}

const inexact = "Send this number as a text: it has more digits than a number keeps, and would be rounded.";

export function pointerPart(name: string): string {
  return pointerToken(clipText(name, 200));
}
