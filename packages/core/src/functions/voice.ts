import { isAbsence, Unknown, unknown } from "@countersign/cel";
import { documented } from "./documented.ts";
import { copiesOf, copyUnlike } from "./tcpa-fallback.ts";
import { at, squash } from "./text.ts";

const ARTIFICIAL = new Set(["aivoice", "artificialvoice", "syntheticvoice", "ai"]);

/**
 * Whether a call uses an AI voice: any copy of `ai_voice_detected` is true, or the method names one. No copy saying
 * "false" takes that back. Where none says so but one is stale or no boolean, that is unknown: else an old "true", or one that is
 * a text, would switch the rules on AI voices off. Source: policies.md §5, §3 rule 3; FCC 24-17.
 */
export const aiVoice = (facts: unknown): boolean | Unknown => {
  const method = at(facts, "environmental", "communication_method");
  const copies = copiesOf(facts, "ai_voice_detected");
  if (copies.includes(true) || (typeof method === "string" && ARTIFICIAL.has(squash(method)))) return true;
  const stale = [...copies, method].find((copy): copy is Unknown => copy instanceof Unknown && !isAbsence(copy));
  if (stale !== undefined) return stale;
  const wrong = copyUnlike(facts, "ai_voice_detected", (copy) => typeof copy === "boolean");
  return wrong === undefined ? false : unknown(wrong, "type");
};

/**
 * Whether an AI voice is disclosed: at least one copy of `ai_voice_disclosure` documents it and none denies it.
 * Source: policies.md §5.
 */
export const aiDisclosed = (facts: unknown): boolean => {
  const copies = copiesOf(facts, "ai_voice_disclosure");
  return copies.length > 0 && copies.every(documented);
};
