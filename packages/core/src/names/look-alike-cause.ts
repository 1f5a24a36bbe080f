import type { Cause } from "@countersign/cel";
import { clipText } from "../values/clip-text.ts";

const begin = "looks like ";

export function lookAlikeCause(path: string, known: string): Cause {
  return { path, reason: clipText(`${begin}${known}`, 64) };
}

/** Causes of errors have no path. */
export function isLookAlikeCause({ path, reason }: Cause): boolean {
  return path !== "" && reason.startsWith(begin);
}
