import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reason } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { EscalationTerms } from "../../src/deciding/decision.ts";
import { decideCase, type TestCase, type TestPolicy } from "../../src/testing/deciding.ts";

interface GoldenCase extends TestCase {
  readonly name: string;
  readonly policies: readonly TestPolicy[];
  readonly expect: Readonly<Record<string, unknown>>;
}

const cases = parse(readFileSync(join(import.meta.dirname, "../data/decide.yaml"), "utf8")) as readonly GoldenCase[];
const names = (reasons: readonly Reason[]): string[] => reasons.map((reason) => reason.policy);

/** Adds reviewers and the largest quorum, in the format of the golden cases. */
function withPanels({ demands, ...terms }: EscalationTerms): Record<string, unknown> {
  return {
    ...terms,
    panels: demands.map(({ reviewers }) => reviewers),
    quorum: Math.max(...demands.map(({ quorum }) => quorum)),
  };
}

describe("deciding", () => {
  test.each(cases)("$name", (golden) => {
    const { content, ...rest } = decideCase(golden.policies, golden);
    const unknown = content.reasons.flatMap((reason) => reason.unknown_facts);
    const actual: Record<string, unknown> = {
      ...content,
      ...rest,
      escalation: rest.escalation === null ? null : withPanels(rest.escalation),
      risk: content.risk_score,
      fired: names(content.reasons),
      messages: content.reasons.map((reason) => reason.message),
      shadow: names(rest.shadow_reasons),
      unknown_facts: unknown.filter(
        (fact, index) =>
          unknown.findIndex((other) => other.path === fact.path && other.reason === fact.reason) === index,
      ),
    };
    const compared = Object.fromEntries(Object.keys(golden.expect).map((key) => [key, actual[key]]));
    expect(compared).toEqual(golden.expect);
  });
});
