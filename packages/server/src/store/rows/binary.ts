/** Writes values in PostgreSQL's binary format, which the server reads without parsing (decision 0012). */
import { parseTimestampUs } from "@countersign/core";

/** Type numbers from PostgreSQL's `pg_type.dat`. */
export const typeOids = { bytea: 17, bigint: 20, text: 25, json: 114, timestamptz: 1184 } as const;

export type BinaryType = keyof typeof typeOids;

/** Integers, RFC 3339 UTC times with six fractional digits and `Z`, or hex digits. */
export type BinaryValue = string | number | null;

/** Returns an upper bound of the value's bytes, including its length field. */
export function bytesAtMost(value: BinaryValue): number {
  return 12 + (typeof value === "string" ? value.length * 3 : 0);
}

/** Writes the length (-1 for null) and the value. Returns the end. Throws TypeError for an invalid time or hash. */
export function writeValue(bytes: Buffer, type: BinaryType, value: BinaryValue, at: number): number {
  if (value === null) return bytes.writeInt32BE(-1, at);
  const end = write(bytes, type, value, at + 4);
  bytes.writeInt32BE(end - at - 4, at);
  return end;
}

function write(bytes: Buffer, type: BinaryType, value: string | number, at: number): number {
  switch (type) {
    case "bigint":
      return writeInt64(bytes, Number(value), at);
    case "timestamptz":
      return writeInt64(bytes, microseconds(String(value)) - postgres_epoch_us, at);
    case "bytea": {
      const end = at + bytes.write(String(value), at, "hex");
      if ((end - at) * 2 !== String(value).length) throw new TypeError("a hash is not written in hex digits");
      return end;
    }
    default:
      return at + bytes.write(String(value), at);
  }
}

const two_to_32 = 2 ** 32;
const postgres_epoch_us = Date.UTC(2000, 0, 1) * 1000;

/** Writes an integer up to 2^53. */
export function writeInt64(bytes: Buffer, value: number, at: number): number {
  const high = Math.floor(value / two_to_32);
  return bytes.writeUInt32BE(value - high * two_to_32, bytes.writeInt32BE(high, at));
}

let last_second = "";
let last_second_us = 0;

function microseconds(text: string): number {
  if (text.length !== 27 || text.slice(0, 19) !== last_second) {
    const at_us = parseTimestampUs(text);
    if (at_us === null) throw new TypeError(`${text} is not a valid time`);
    last_second = text.slice(0, 19);
    last_second_us = Math.floor(at_us / 1_000_000) * 1_000_000;
    return at_us;
  }
  return last_second_us + Number(text.slice(20, 26));
}

/** Returns the head of an array in the format of `array_send`: one dimension with lower bound 1. */
export function arrayHead(element_oid: number, length: number, nulls: boolean): Buffer {
  const head = Buffer.allocUnsafe(20);
  head.writeInt32BE(1, 0);
  head.writeInt32BE(nulls ? 1 : 0, 4);
  head.writeUInt32BE(element_oid, 8);
  head.writeInt32BE(length, 12);
  head.writeInt32BE(1, 16);
  return head;
}

/** Encodes a column as an array. Throws TypeError like `writeValue`. */
export function columnOf(type: BinaryType, values: readonly BinaryValue[]): Buffer {
  let [bytes_max, nulls] = [0, false];
  for (const value of values) {
    bytes_max += bytesAtMost(value);
    nulls ||= value === null;
  }
  const body = Buffer.allocUnsafe(bytes_max);
  let end = 0;
  for (const value of values) end = writeValue(body, type, value, end);
  return Buffer.concat([arrayHead(typeOids[type], values.length, nulls), body.subarray(0, end)]);
}
