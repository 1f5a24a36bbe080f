import { describe, expect, test } from "vitest";
import { decideCase, type TestPolicy } from "../testing/deciding.ts";
import { left_out, reasons_chars_max } from "./reasons.ts";

const citations = Array.from({ length: 32 }, () => "c".repeat(256));
const wordy = (name: string, effect: string): TestPolicy => ({
  name,
  metadata: { citations },
  spec: { effect, when: "true", message: "m".repeat(2_000) },
});

describe("the reasons of a decision", () => {
  test("are all named, strictest first, with limited texts", () => {
    const escalating = Array.from({ length: 20 }, (_, index) => wordy(`a-${index}`, "escalate"));
    const { content } = decideCase([...escalating, wordy("z-blocks", "block")]);
    expect(content.verdict).toBe("block");
    expect(content.reasons).toHaveLength(21);
    expect(content.reasons[0]).toMatchObject({ policy: "z-blocks", message: "m".repeat(2_000), citations });
    expect(content.reasons.at(-1)).toMatchObject({ effect: "escalate", message: left_out, citations: [] });
    const words = content.reasons
      .filter(({ message }) => message !== left_out)
      .reduce((sum, { message, citations: cited }) => sum + message.length + cited.join("").length, 0);
    expect(words).toBeLessThanOrEqual(reasons_chars_max);
  });

  test("that fit keep their texts", () => {
    const { content } = decideCase([wordy("a", "block"), wordy("b", "block")]);
    expect(content.reasons.map(({ message, citations: cited }) => [message.length, cited.length])).toEqual([
      [2_000, 32],
      [2_000, 32],
    ]);
  });
});
