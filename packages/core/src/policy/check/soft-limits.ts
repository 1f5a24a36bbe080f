import type { PolicyDocument } from "../document.ts";

/** Roots of values that may be missing or of another type. */
const readable = /\b(?:params|facts|vars|target|impact|intent|agent)\b/;

/**
 * Returns why a non-overridable block would not block when unknown. Agents can make it unknown with a value of another
 * type.
 */
export function softLimit({ effect, override, on_unknown, when = "", require = "" }: PolicyDocument["spec"]) {
  if (effect !== "block" || override !== "never" || on_unknown === "block" || on_unknown === "fire") return null;
  if (!readable.test(`${when} ${require}`)) return null;
  const then = {
    skip: "the action passes",
    escalate: "reviewers may approve the action",
    left_out: "two people may approve the action",
  }[on_unknown ?? "left_out"];
  return {
    message: `Nobody may override this block, but if a value is missing or has another type, ${then}.`,
    help: "Write on_unknown: block.",
  };
}
