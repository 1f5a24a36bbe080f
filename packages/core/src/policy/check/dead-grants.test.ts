import { expect, test } from "vitest";
import { checkPolicy } from "./check.ts";

const grants = { times_max: 5, hours_max: 24 };
const found = (spec: object) =>
  checkPolicy({ apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "p" }, spec }).diagnostics.map(
    ({ path, message }) => `${path}: ${message}`,
  );

test("a rule that one person decides may permit grants", () => {
  expect(found({ when: "true", effect: "escalate", escalation: { grants } })).toEqual([]);
});

test.each([
  [{ effect: "block", escalation: { grants } }, "Only a rule with the effect escalate can permit grants."],
  [
    { effect: "escalate", override: "never", escalation: { grants } },
    "A rule with override: never cannot permit grants.",
  ],
  [
    { effect: "escalate", escalation: { grants, quorum: 2 } },
    "A rule that needs several people cannot permit grants, because one person makes a grant.",
  ],
])("a rule may not permit grants: %j", (spec, message) => {
  expect(found({ when: "true", ...spec })).toEqual([`/spec/escalation/grants: ${message}`]);
});
