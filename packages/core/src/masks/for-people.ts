/** Agents see their own intents unmasked. */
import type { Decision, IntentRecord, UsedFacts } from "@countersign/contract";
import { isCredentialName } from "../values/credentials.ts";
import { pointerNames } from "../values/json-patch.ts";
import { type Masking, mask_text, maskedContent, maskedValue } from "./mask.ts";

/** Masks all fields, because an agent may repeat masked content. Keeps agent id, type and verb. */
export function intentForPeople<T extends IntentRecord>(intent: T, masking: Masking): T {
  const { agent, action, payload, decided_as, data_classes, estimated_impact: impact } = intent;
  const shown = <V>(value: V): V => maskedValue(value, masking.texts);
  const { content } = payload ?? {};
  return {
    ...intent,
    agent: { ...shown(agent), id: agent.id },
    action: { ...action, ...(action.target !== undefined && { target: shown(action.target) }) },
    decided_as: { ...decided_as, data_classes: shown(decided_as.data_classes) },
    ...(data_classes !== undefined && { data_classes: shown(data_classes) }),
    ...(impact?.regulatory_domains !== undefined && {
      estimated_impact: { ...impact, regulatory_domains: shown(impact.regulatory_domains) },
    }),
    ...(payload !== undefined && {
      payload: {
        ...payload,
        ...(payload.summary !== undefined && { summary: shown(payload.summary) }),
        ...(content !== undefined && { content: maskedContent(content, masking) }),
      },
    }),
  };
}

/** Numbers stay, because they may be equal by chance and explain the verdict. */
export function factsForPeople(facts: UsedFacts, { texts }: Masking): UsedFacts {
  const shown = (value: unknown): unknown => (typeof value === "number" ? value : maskedValue(value, texts));
  return Object.fromEntries(
    Object.entries(facts).map(([category, fields]) => [
      category,
      Object.fromEntries(
        Object.entries(fields ?? {}).map(([name, fact]) => [
          name,
          fact.value === undefined ? fact : { ...fact, value: shown(fact.value) },
        ]),
      ),
    ]),
  ) as UsedFacts;
}

export function decisionForPeople(decision: Decision, masking: Masking): Decision {
  const { modifications, modified_content } = decision;
  return {
    ...decision,
    modifications: modifications.map((each) => {
      if (each.value === undefined) return each;
      const is_masked = masking.by_policies.has(each.path) || isCredentialName(pointerNames(each.path).at(-1) ?? "");
      return { ...each, value: is_masked ? mask_text : maskedValue(each.value, masking.texts) };
    }),
    modified_content: modified_content === null ? null : maskedContent(modified_content, masking),
  };
}
