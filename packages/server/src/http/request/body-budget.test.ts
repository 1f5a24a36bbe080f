import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { large_body_bytes, roomForBody } from "./body-budget.ts";

const mib = 1_048_576;

function body(holder: string) {
  const response = new EventEmitter() as unknown as ServerResponse;
  return { arrive: roomForBody(response, () => holder), close: () => response.emit("close") };
}

test("at most 64 MiB of large bodies are in flight, 16 MiB of one caller; an answered or closed request frees its room", () => {
  const bodies = Array.from({ length: 8 }, (_, n) => body(`caller ${n >> 1}`));
  for (const { arrive } of bodies) arrive(8 * mib);
  expect(() => body("another").arrive(large_body_bytes + 1)).toThrow("overloaded");
  bodies[0]?.close();
  expect(() => body("caller 1").arrive(large_body_bytes + 1)).toThrow("overloaded");
  const next = body("caller 0");
  next.arrive(8 * mib);
  expect(() => body("another").arrive(large_body_bytes + 1)).toThrow("overloaded");
  for (const each of [...bodies.slice(1), next]) each.close();
});

test("a body counts as it arrives, small ones not at all, and each only once", () => {
  const small = Array.from({ length: 2_000 }, () => body("one"));
  for (const { arrive } of small) arrive(large_body_bytes);
  const growing = body("one");
  for (let bytes = 0; bytes <= 8 * mib; bytes += mib / 4) growing.arrive(bytes);
  const other = body("one");
  other.arrive(7 * mib);
  other.arrive(8 * mib);
  expect(() => other.arrive(8 * mib + 1)).toThrow("overloaded");
  for (const each of [...small, growing, other]) each.close();
  const whole = body("one");
  whole.arrive(16 * mib);
  whole.close();
});
