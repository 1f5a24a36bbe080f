import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { large_body_bytes, reserveBody } from "./body-budget.ts";

const mib = 1_048_576;
const response = () => new EventEmitter() as unknown as ServerResponse;

test("64 MiB of large bodies are under way at most; what is answered or gone makes room; small ones are not counted", () => {
  const eight = Array.from({ length: 8 }, response);
  for (const each of eight) reserveBody(each, 8 * mib);
  expect(() => reserveBody(response(), large_body_bytes + 1)).toThrow("overloaded");
  reserveBody(response(), large_body_bytes);
  eight[0]?.emit("close");
  const next = response();
  reserveBody(next, 8 * mib);
  expect(() => reserveBody(response(), large_body_bytes + 1)).toThrow("overloaded");
  for (const each of [...eight.slice(1), next]) each.emit("close");
  const whole = response();
  reserveBody(whole, 64 * mib);
  whole.emit("close");
});
