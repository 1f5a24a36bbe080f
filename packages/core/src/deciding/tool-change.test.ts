import { expect, test } from "vitest";
import { inputOf, type TestCase } from "../testing/deciding.ts";
import { decide } from "./decide.ts";

const change: TestCase = { intent: { action: { type: "tool.change", verb: "accept_tool_change" } } };
const decided = (more: TestCase = {}) => decide(inputOf([], { ...change, ...more }));

test("a changed tool waits for people though no policy holds it, and no timeout approves it", () => {
  const escalation = { timeout_seconds: 60, on_timeout: "approve" as const, reviewers: [], quorum: 1 };
  const { content, escalation: terms } = decided({ membrane: { escalation } });
  expect(content.verdict).toBe("escalate");
  expect(content.reasons).toMatchObject([{ policy: "tools.changed", policy_id: null, effect: "escalate" }]);
  expect(terms).toMatchObject({ on_timeout: "block", demands: [{ policy: "membrane.escalation" }] });
});

test("neither upper case nor a catalogue entry releases a changed tool; only an override of people does", () => {
  expect(decided({ intent: { action: { type: "Tool.Change", verb: "accept_tool_change" } } }).content.verdict).toBe(
    "escalate",
  );
  const entry = { verb: "accept_tool_change", type: "data.read", data_classes: [] };
  expect(decided({ membrane: { action_catalogue: [entry] } }).content.verdict).toBe("escalate");
  expect(decided({ overrides: ["tools.changed"] }).content.verdict).toBe("approve");
});
