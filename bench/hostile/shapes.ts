/** Bodies with the maximum cost: six shapes within the limits, one beyond. */
import { limits } from "@countersign/contract";

/** Maximum values in the content of one action. */
const values = limits.json_values_max - 100;

const times = (count: number, make: (n: number) => string) => Array.from({ length: count }, (_, n) => make(n)).join();

const contents = {
  members: `{${times(values, (n) => `"k${n}":${n % 10}`)}}`,
  lists: `[${times(values / 2, () => "[]")}]`,
  numbers: `[${times(values, (n) => `1.2345678901234e${n % 300}`)}]`,
  escapes: `{${times(values, (n) => `"\\u0041${n}":"\\u00e9\\u00e8"`)}}`,
  deep: `[${times(values / 26, () => `${"[".repeat(24)}${"]".repeat(24)}`)}]`,
  beyond: `{${times(60_000, (n) => `"k${n}":${n % 10}`)}}`,
} as const;

/** `batch` has fifty actions with `members`. */
export type Shape = keyof typeof contents | "batch";
export const shapes: readonly Shape[] = ["members", "lists", "numbers", "escapes", "deep", "batch", "beyond"];

export function bodyOf(shape: Shape): { readonly path: string; readonly body: string } {
  const action = (content: string) =>
    `{"intent":{"agent":{"id":"agent"},"action":{"type":"other.test","verb":"test"},"payload":{"content":{"x":${content}}}}}`;
  if (shape !== "batch") return { path: "/v1/intents", body: action(contents[shape]) };
  return { path: "/v1/intents/batch", body: `{"intents":[${times(50, () => action(contents.members))}]}` };
}
