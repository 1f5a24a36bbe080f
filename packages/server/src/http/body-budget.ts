/**
 * How much of large bodies may be under way at once. A body is held as bytes, text and values, for as long as its request
 * takes: a few dozen batches of the greatest size would otherwise use up the memory of the process.
 */
import type { ServerResponse } from "node:http";
import { Fault } from "@countersign/core";

/** Smaller ones are not counted: as many as there are connections fit. */
export const large_body_bytes = 65_536;
/** Eight batches of the greatest size. */
const under_way_bytes_max = 64 * 1_048_576;

let under_way = 0;

/** Takes up `bytes` until the request is answered or gone. Faults: overloaded. */
export function reserveBody(response: ServerResponse, bytes: number): void {
  if (bytes <= large_body_bytes) return;
  if (under_way + bytes > under_way_bytes_max) throw new Fault("overloaded");
  under_way += bytes;
  response.once("close", () => {
    under_way -= bytes;
  });
}
