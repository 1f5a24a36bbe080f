import { expect, test } from "vitest";
import { goLiveSteps, missingFactSteps } from "./missing-facts.ts";

const injection = { policy_id: "pol_security.prompt-injection", policy: "security.prompt-injection", pack: "security" };
const own = { policy_id: "pol_01", policy: "big-wire", pack: null };
const found = {
  decisions: 1_377,
  share: 0.1708,
  facts: [
    { path: "facts.security.prompt_injection_detected", decisions: 1_377, rules: [injection] },
    { path: "facts.organizational.desk", decisions: 12, rules: [own, injection] },
  ],
};

test("the steps name the facts with their types, their share, how to supply them, and what to switch off instead", () => {
  const [missing, supply, off, ...more] = missingFactSteps(found);
  expect(missing).toBe(
    "Facts are missing in 17.1 % of your traffic. Decisions that missed a fact: 1,377. " +
      "Missing facts: security.prompt_injection_detected (boolean), organizational.desk.",
  );
  expect(supply).toContain("context.facts");
  expect(off).toMatch(/add security.prompt-injection to the membrane's rules_off .*; retire the policies big-wire /);
  expect(more).toEqual([]);
});

test("the steps name only what there is to switch off, and nothing if no fact is missing", () => {
  const [fact] = found.facts as [(typeof found.facts)[number]];
  expect(missingFactSteps({ ...found, facts: [fact] }).join(" ")).not.toContain("retire");
  expect(missingFactSteps({ ...found, facts: [{ ...fact, rules: [own] }] }).join(" ")).not.toContain("rules_off");
  expect(missingFactSteps({ decisions: 0, share: 0, facts: [] })).toEqual([]);
});

test("going live reports the missing facts, that none was missing, or that nothing was decided", () => {
  const none = { decisions: 0, share: 0, facts: [], next_steps: [] };
  const missing_facts = { ...found, next_steps: missingFactSteps(found) };
  expect(goLiveSteps({ complete: true, decisions: 8_064, missing_facts }).slice(0, 3)).toEqual(
    missing_facts.next_steps,
  );
  expect(goLiveSteps({ complete: true, decisions: 8_064, missing_facts: none })).toEqual([
    expect.stringContaining("No fact was missing in the last 31 days."),
  ]);
  expect(goLiveSteps({ complete: true, decisions: 0, missing_facts: none })[0]).toContain("decided nothing in shadow");
  const counting = goLiveSteps({ complete: false, decisions: 0, missing_facts: none });
  expect(counting).toHaveLength(1);
  expect(counting[0]).toContain("still counting earlier decisions");
});
