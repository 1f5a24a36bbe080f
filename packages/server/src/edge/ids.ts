import { randomFillSync } from "node:crypto";
import { crockford_alphabet, idPrefixes } from "@countersign/contract";
import type { Clock, Ids } from "../ports.ts";
import { behind_ms_max } from "./clock.ts";

/** A call of the system's generator costs about 1 µs for any size. */
const pool_bytes = 4096;

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Crockford text of each 10-bit number: two characters in one lookup. */
const pairs = Array.from(
  { length: 1024 },
  (_, n) => crockford_alphabet.charAt(n >> 5) + crockford_alphabet.charAt(n & 31),
);

function randomBytePool(): () => number {
  const pool = new Uint8Array(pool_bytes);
  let at = pool_bytes;
  return () => {
    if (at === pool_bytes) {
      randomFillSync(pool);
      at = 0;
    }
    const byte = pool[at] as number;
    pool[at] = 0;
    at += 1;
    return byte;
  };
}

/** Each salt is wiped from the pool. */
function saltPool(): () => string {
  const pool = Buffer.alloc(pool_bytes);
  let at = pool_bytes;
  return () => {
    if (at === pool_bytes) {
      randomFillSync(pool);
      at = 0;
    }
    const salt = pool.toString("hex", at, at + 16);
    pool.fill(0, at, at + 16);
    at += 16;
    return salt;
  };
}

function encode40(value: number): string {
  const high = Math.floor(value / 2 ** 20);
  const low = value % 2 ** 20;
  return `${pairs[high >> 10]}${pairs[high & 1023]}${pairs[low >> 10]}${pairs[low & 1023]}`;
}

/**
 * Creates identifiers and secrets.
 *
 * An id is 48 bits of milliseconds and 80 random bits. Within one millisecond the lower 40 bits grow by a random step,
 * so later ids sort later and cannot be guessed. If the clock goes back by more than a minute, ids go back with it,
 * because lists find rows of a time span by their ids.
 */
export function createIds(clock: Clock): Ids {
  const randomByte = randomBytePool();
  const random16 = () => randomByte() * 256 + randomByte();
  const random40 = () => random16() * 2 ** 24 + random16() * 256 + randomByte();
  let time_ms = 0;
  let head = "";
  let tail = 2 ** 40;

  function enter(next_ms: number): void {
    time_ms = next_ms;
    const time = encode40(Math.floor(next_ms / 2 ** 10)) + pairs[next_ms % 2 ** 10];
    head = time + encode40(random40());
    tail = random40();
  }

  return {
    next(kind) {
      const now_ms = Math.floor(clock.now_us() / 1000);
      tail += random16() + 1;
      if (now_ms > time_ms || now_ms < time_ms - behind_ms_max) enter(now_ms);
      else if (tail >= 2 ** 40) enter(time_ms + 1);
      return idPrefixes[kind] + head + encode40(tail);
    },

    secret(length) {
      let text = "";
      while (text.length < length) {
        const byte = randomByte();
        // 248 = 4 × 62. Larger values would make the first 8 characters more frequent.
        if (byte < 248) text += base62.charAt(byte % 62);
      }
      return text;
    },

    salt: saltPool(),
  };
}
