import { isAbsence, Unknown, unknown } from "@countersign/cel";
import { documented } from "./documented.ts";
import { copiesOf, copyUnlike } from "./tcpa-fallback.ts";
import { at, squash } from "./text.ts";

const ARTIFICIAL = new Set(["aivoice", "artificialvoice", "syntheticvoice", "ai"]);

/**
 * Returns true if a call uses an AI voice (FCC 24-17): any copy of `ai_voice_detected` is true, or the method names
 * one. Without a true copy, a stale or unreadable copy makes the result unknown. Otherwise it would switch the rules
 * off.
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

/** At least one copy must document the disclosure, and none deny it. */
export const aiDisclosed = (facts: unknown): boolean => {
  const copies = copiesOf(facts, "ai_voice_disclosure");
  return copies.length > 0 && copies.every(documented);
};
