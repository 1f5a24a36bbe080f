import { isUtf8 } from "node:buffer";
import { limits } from "@countersign/contract";
import { Fault, faultAt } from "../fault.ts";
import { type JsonInParts, parseInParts } from "./parse-json.ts";

const step_bytes_min = 16_384;

/**
 * Reads a JSON object whose member `name` is a list. Each item has the limits of a body; one that is too large fails
 * alone, when examined. Yields after each step so that other work can run. Faults: as `parseInParts`; invalid_request
 * if the list has more than `items_max` items.
 */
export function* parseItems(bytes: Buffer, name: string, items_max: number): Generator<void, JsonInParts> {
  const start = isUtf8(bytes) ? listStart(bytes, name) : null;
  // `parseInParts` reports the problem.
  if (start === null) return parseInParts(bytes, limits.json_depth_max);
  const items: unknown[] = [];
  const examiners = new Map<unknown, JsonInParts["examine"]>();
  let read = 0;
  let at = start;
  while (bytes[skipSpace(bytes, at)] !== closing_bracket || items.length > 0) {
    if (items.length === items_max)
      throw faultAt("invalid_request", `/${name}`, "too_long", `Send at most ${items_max} items.`);
    const end = endOfValue(bytes, at);
    // Parsing must refuse an empty text between two commas.
    const { value, examine } = parseItem(end === at ? Buffer.from(" ") : bytes.subarray(at, end));
    items.push(value);
    examiners.set(value, examine);
    read += end - at;
    at = end;
    if (bytes[end] !== comma) break;
    at += 1;
    if (read >= step_bytes_min) {
      read = 0;
      yield;
    }
  }
  const around = [bytes.subarray(0, start), Buffer.from(items.map(() => "0").join()), bytes.subarray(at)];
  const { value } = parseInParts(Buffer.concat(around), limits.json_depth_max);
  (value as Record<string, unknown>)[name] = items;
  return { value, examine: (item) => examiners.get(item)?.(item) ?? [] };
}

/** An item with too many values becomes an empty object, and its examination throws. */
function parseItem(bytes: Buffer): JsonInParts {
  try {
    const { value, examine } = parseInParts(bytes, limits.batch_json_depth_max);
    return bytes.length > limits.body_bytes_max
      ? { value, examine: (item) => examine(notTooLarge(item)) }
      : { value, examine };
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "payload_too_large") throw error;
    return {
      value: {},
      examine: () => {
        throw error;
      },
    };
  }
}

function notTooLarge(item: unknown): unknown {
  if (Buffer.byteLength(JSON.stringify(item)) > limits.body_bytes_max)
    throw new Fault("payload_too_large", { details: [{ body_bytes_max: limits.body_bytes_max }] });
  return item;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const opening_bracket = 0x5b;
const backslash = 0x5c;
const closing_bracket = 0x5d;
const opening_brace = 0x7b;
const closing_brace = 0x7d;

/** Returns the place after the list's opening bracket. Null for another form. */
function listStart(bytes: Buffer, name: string): number | null {
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== opening_brace) return null;
  do {
    const from = skipSpace(bytes, at + 1);
    if (bytes[from] !== quote) return null;
    const to = endOfText(bytes, from);
    at = skipSpace(bytes, to);
    if (bytes[at] !== colon) return null;
    at = skipSpace(bytes, at + 1);
    if (bytes[at] === opening_bracket && bytes.toString("latin1", from + 1, to - 1) === name) return at + 1;
    at = endOfValue(bytes, at);
  } while (bytes[at] === comma);
  return null;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}

function endOfText(bytes: Buffer, from: number): number {
  let at = from + 1;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at + 1;
}

/** Returns the place of the comma or closing bracket, or the end of the bytes. */
function endOfValue(bytes: Buffer, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote:
        at = endOfText(bytes, at) - 1;
        break;
      case opening_bracket:
      case opening_brace:
        depth++;
        break;
      case closing_bracket:
      case closing_brace:
        if (depth === 0) return at;
        depth--;
        break;
      case comma:
        if (depth === 0) return at;
    }
  }
  return bytes.length;
}
