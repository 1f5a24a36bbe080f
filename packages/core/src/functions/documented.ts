import { isRecord, phrase } from "./text.ts";

const failed_words =
  "rejected|refused|denied|declined|disapproved|failed|fail|unsuccessful|revoked|withdrawn|rescinded|cancelled|canceled|" +
  "invalid|void|voided|lapsed|terminated|suspended|superseded|obsolete";
const FAILED = new Set(failed_words.split("|"));
/** Whole phrases that mean "no evidence" or "not yet". */
const NOTHING = new Set(
  (
    "|no|none|na|n a|nil|null|undefined|unknown|missing|absent|false|todo|to do|tbd|tba|tbc|planned|in progress|" +
    `incomplete|inactive|pending|draft|expired|not|0|x|test|placeholder|${failed_words}`
  ).split("|"),
);
/** Beginnings with the same meaning: "pending approval", "draft v2", "under review by legal". */
const notYet =
  /^(?:(?:not|pending|draft|expired|none|todo|tbd|awaiting|n a) |(?:wip|work in progress|(?:in|under) review|unsigned|unapproved)(?: |$))/u;
/**
 * Phrases that mean "no evidence" only as a whole answer. Within a record, "no reason for concern" may be a finding.
 */
const noAnswer =
  /^(?:to be |in preparation|no (?:ticket|assessment|lia|plan|approval|justification|reason|reference|ref|documentation|evidence)(?: yet)?$)/u;

const textDocumented = (text: string): boolean => {
  const words = phrase(text);
  return !NOTHING.has(words) && !notYet.test(words);
};

const failed = (value: unknown): boolean =>
  value === false || (typeof value === "string" && value.trim() !== "" && !textDocumented(value));

/** Flags that mean "failed" if true. */
const failedFlags = new Set(`expired|incomplete|missing|absent|pending|draft|placeholder|${failed_words}`.split("|"));
/** Keys of an outcome. The text may have more words ("rejected by legal"). */
const outcomeKey = /(?:status|state|outcome|result|decision|conclusion|verdict)$/i;
/** Words that reverse the meaning of an outcome: "no controls failed". */
const DENYING = new Set(["no", "none", "nothing", "nobody", "never", "without", "0"]);

const failedOutcome = (text: string): boolean => {
  const words = phrase(text).split(" ");
  if (FAILED.has(words[0] as string)) return true;
  return FAILED.has(words.at(-1) as string) && !words.some((word) => DENYING.has(word));
};

const holdsFailure = (record: unknown): boolean => {
  const queue = [record];
  while (queue.length > 0) {
    const value = queue.pop();
    if (failed(value)) return true;
    if (Array.isArray(value)) for (const entry of value) queue.push(entry);
    if (!isRecord(value)) continue;
    for (const [name, entry] of Object.entries(value)) {
      if (entry === true && failedFlags.has(phrase(name))) return true;
      if (typeof entry === "string" && outcomeKey.test(name) && failedOutcome(entry)) return true;
      queue.push(entry);
    }
  }
  return false;
};

const depth_max = 8;

const evidence = (value: unknown, depth: number): boolean => {
  if (value === true) return true;
  if (typeof value === "string") return textDocumented(value) && !(depth === 0 && noAnswer.test(phrase(value)));
  if (depth >= depth_max) return false;
  if (Array.isArray(value)) return value.some((entry) => evidence(entry, depth + 1));
  if (!isRecord(value) || holdsFailure(value)) return false;
  return Object.values(value).some((entry) => typeof entry === "number" || evidence(entry, depth + 1));
};

/**
 * Returns true if evidence is given: true, a text other than "none" or "not yet", or a list with one. A record needs
 * content and, at any depth, no false flag, no true flag like `expired`, and no failed status. Numbers are no evidence.
 */
export const documented = (value: unknown): boolean => evidence(value, 0);
