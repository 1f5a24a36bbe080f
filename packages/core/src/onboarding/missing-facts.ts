import { type FactCategory, factCategories, type MissingFacts, type Overview } from "@countersign/contract";
import { names } from "./words.ts";

export const waysToSupply =
  "Send them with each intent (context.facts) or store them (PUT /v1/context/org, /agents/… or /targets/…). " +
  "The service can also ask your own endpoint (PUT /v1/context/source). " +
  "Where facts_from of the membrane asks for attested facts, an agent's own key cannot send them: use a key of role host.";

/** Returns steps to supply the facts, or to disable the rules that need them. Empty if none is missing. */
export function missingFactSteps({ decisions, share, facts }: Omit<MissingFacts, "next_steps">): string[] {
  if (facts.length === 0) return [];
  const rules = facts.flatMap((fact) => fact.rules);
  const ofPacks = [...new Set(rules.flatMap(({ pack, policy }) => (pack === null ? [] : [policy])))].sort();
  const own = [...new Set(rules.flatMap(({ pack, policy }) => (pack === null ? [policy] : [])))].sort();
  const shown = (count: number): string => count.toLocaleString("en-US", { maximumFractionDigits: 1 });
  const switchOff = [
    ...(ofPacks.length === 0
      ? []
      : [`add ${names(ofPacks)} to the membrane's rules_off (PATCH /v1/membranes/{membrane_id})`]),
    ...(own.length === 0 ? [] : [`retire the policies ${names(own)} (POST /v1/policies/{policy_id}/retire)`]),
  ];
  return [
    `Facts are missing in ${shown(100 * share)} % of your traffic. Decisions that missed a fact: ${shown(decisions)}. ` +
      `Missing facts: ${names(facts.map(({ path }) => described(path)))}.`,
    `Supply these facts. ${waysToSupply}`,
    `If you cannot supply them, switch off the rules that ask for them: ${switchOff.join("; ")}.`,
  ];
}

/** Returns steps after a membrane went live, from its decisions in shadow mode. */
export function goLiveSteps({
  complete,
  decisions,
  missing_facts,
}: Pick<Overview, "complete" | "decisions" | "missing_facts">): string[] {
  const back = "POST /v1/membranes/{membrane_id}/return-to-shadow stops enforcing.";
  if (!complete)
    return [
      "The service is still counting earlier decisions, so it cannot say yet what this membrane would have held. " +
        `Read GET /v1/overview again until complete is true. ${back}`,
    ];
  if (decisions === 0)
    return [
      `This membrane decided nothing in shadow in the last 31 days, so nobody knows what it will hold. ${back}`,
      `Watch GET /v1/overview: missing_facts names the facts that its rules need. ${waysToSupply}`,
    ];
  if (missing_facts.facts.length === 0)
    return [`No fact was missing in the last 31 days. Watch GET /v1/overview. ${back}`];
  return [
    ...missing_facts.next_steps,
    `While these facts are missing, the actions that need them are held or blocked. ${back}`,
  ];
}

/** Returns a fact with its types: "security.siem_ref (string)". Custom facts have none. */
function described(path: string): string {
  const name = path.replace(/^facts\./, "");
  const [category, field] = name.split(".");
  const listed: readonly FactCategory[] = Object.values(factCategories);
  const types = listed.find((each) => each.name === category)?.fields.find((each) => each.name === field)?.types;
  return types === undefined ? name : `${name} (${types.join(" or ")})`;
}
