/** Limits large bodies in flight, because a few dozen batches of the maximum size would use up the memory. */
import type { ServerResponse } from "node:http";
import { Fault } from "@countersign/core";

/** Smaller bodies are not counted. */
export const large_body_bytes = 65_536;
/** Eight batches of the greatest size. */
const under_way_bytes_max = 64 * 1_048_576;
/** Leaves room for other callers. */
const of_one_bytes_max = under_way_bytes_max / 4;

let under_way = 0;
const held = new Map<string, number>();

/**
 * Reserves room for a body as it arrives. The returned function takes the total so far, and throws the fault
 * overloaded. The room is free again when the response is closed.
 */
export function roomForBody(response: ServerResponse, holder: () => string): (arrived: number) => void {
  let taken = 0;
  let of = "";
  const take = (bytes: number): void => {
    const by_holder = (held.get(of) ?? 0) + bytes;
    under_way += bytes;
    taken += bytes;
    if (by_holder === 0) held.delete(of);
    else held.set(of, by_holder);
  };
  return (arrived) => {
    if (arrived <= large_body_bytes) return;
    if (taken === 0) of = holder();
    const more = arrived - taken;
    if (under_way + more > under_way_bytes_max || (held.get(of) ?? 0) + more > of_one_bytes_max)
      throw new Fault("overloaded");
    if (taken === 0) response.once("close", () => take(-taken));
    take(more);
  };
}
