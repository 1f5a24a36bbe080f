import { expect, test } from "vitest";
import { AgentsWithFacts } from "./agents-with-facts.ts";

test("the names are kept while the same agents have facts, and made again for others", () => {
  const agents = new AgentsWithFacts();
  const of = (...subjects: string[]) => agents.of("org_1", new Set(subjects));
  const first = of("org ", "agent a-1", "target [1]");
  expect(first?.like("a_1")).toEqual([{ known: "a-1", is_named: true }]);
  expect(of("agent a-1", "target [2]")).toBe(first);
  const second = of("agent a-1", "agent b-1");
  expect(second).not.toBe(first);
  expect(second?.like("b_1")).toHaveLength(1);
  expect(of("agent b-1", "agent c-1")?.like("a_1")).toEqual([]);
  expect([of("org "), of(), agents.of("org_1", null)]).toEqual([null, null, null]);
  expect(agents.of("org_2", new Set(["agent d-1"]))?.like("b_1")).toEqual([]);
});
