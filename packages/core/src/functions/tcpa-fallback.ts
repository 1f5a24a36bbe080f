import { isAbsence } from "@countersign/cel";
import { at, given, isRecord } from "./text.ts";

/** Flat TCPA facts, and their names in `regulatory.tcpa`. */
const CONTAINED: ReadonlyMap<string, readonly string[]> = new Map([
  ["tcpa_consent", ["tcpa_consent", "consent"]],
  ["dnc_registry_status", ["dnc_registry_status", "registry_status"]],
  ["established_business_relationship", ["established_business_relationship", "ebr"]],
  ["dnc_last_scrub_date", ["dnc_last_scrub_date", "last_scrub_date"]],
  ["internal_dnc_listed", ["internal_dnc_listed"]],
  ["revocation_sla_exceeded", ["revocation_sla_exceeded"]],
  ["revocation_business_days_elapsed", ["revocation_business_days_elapsed"]],
  ["ai_voice_detected", ["ai_voice_detected"]],
  ["ai_voice_disclosure", ["ai_voice_disclosure"]],
  ["recipient_state", ["recipient_state"]],
]);

export const container_fact = "regulatory.tcpa";

export const containedFacts: readonly string[] = [...CONTAINED.keys()].map((name) => `regulatory.${name}`);

/** Fills missing flat TCPA facts from `regulatory.tcpa`. Returns the same object if nothing is missing. */
export const withTcpaFallback = <T>(regulatory: T): T => {
  const container = at(regulatory, "tcpa");
  if (!isRecord(regulatory) || !isRecord(container)) return regulatory;
  const filled: Record<string, unknown> = {};
  for (const [flat, names] of CONTAINED) {
    if (given(at(regulatory, flat))) continue;
    const name = names.find((candidate) => given(at(container, candidate)));
    if (name !== undefined) filled[flat] = container[name];
  }
  return Object.keys(filled).length === 0 ? regulatory : ({ ...regulatory, ...filled } as T);
};

const COPIES = [["environmental"], ["regulatory"], ["regulatory", "tcpa"]] as const;

/** Returns the given copies of one fact from both categories and the container. */
export const copiesOf = (facts: unknown, name: string): readonly unknown[] =>
  COPIES.map((place) => at(facts, ...place, name)).filter(isGiven);

/** Returns the path of the first copy that is not as wanted. */
export const copyUnlike = (facts: unknown, name: string, isWanted: (copy: unknown) => boolean): string | undefined => {
  const place = COPIES.find((each) => {
    const copy = at(facts, ...each, name);
    return isGiven(copy) && !isWanted(copy);
  });
  return place && ["facts", ...place, name].join(".");
};

const isGiven = (copy: unknown): boolean => given(copy) && !isAbsence(copy);
