import type { Cause } from "@countersign/cel";
import { clipText } from "../values/clip-text.ts";

/** The begin of a cause's reason, before the known name. */
const begin = "looks like ";

/** Returns why a policy is unknown if the name at `path` looks like a known name. */
export function lookAlikeCause(path: string, known: string): Cause {
  return { path, reason: clipText(`${begin}${known}`, 64) };
}

/** Whether a cause is one of `lookAlikeCause`. The cause of an error has no path. */
export function isLookAlikeCause({ path, reason }: Cause): boolean {
  return path !== "" && reason.startsWith(begin);
}
