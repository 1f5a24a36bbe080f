import type { Reason } from "@countersign/contract";

/** What the reasons of one decision may say in their own words, all together. A few hundred of the usual length fit. */
export const reasons_chars_max = 65_536;

/** The message of a reason that has no room left for its own. */
export const untold = "Not told here: the decision has too many reasons.";

/**
 * The reasons of a decision with as much of their messages, citations and unknown facts as one decision can hold, the first
 * ones first; each is named, whatever there is room for. A thousand policies that fire on a small action would otherwise
 * make 10 MB of it, and a batch fifty times that.
 */
export function fitReasons(reasons: readonly Reason[]): Reason[] {
  let left = reasons_chars_max;
  return reasons.map((reason) => {
    const chars = charsOf(reason);
    if (chars > left) return { ...reason, message: untold, citations: [], unknown_facts: [] };
    left -= chars;
    return reason;
  });
}

function charsOf({ message, citations, unknown_facts }: Reason): number {
  let chars = message.length;
  for (const citation of citations) chars += citation.length;
  for (const { path, reason } of unknown_facts) chars += path.length + reason.length;
  return chars;
}
