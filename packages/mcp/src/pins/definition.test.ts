import { expect, test } from "vitest";
import { changeOf, definitionsIn, isSame } from "./definition.ts";

test("the order of members makes no other definition, and neither do members that the model does not get", () => {
  const schema = { type: "object", properties: { a: { type: "string" }, b: {} } };
  const turned = { properties: { b: {}, a: { type: "string" } }, type: "object" };
  const [[, one] = [], [, other] = []] = definitionsIn({
    tools: [
      { name: "pay", description: "pays", inputSchema: schema, icons: [{ src: "a" }], _meta: { at: 1 } },
      { inputSchema: turned, description: "pays", name: "pay", icons: [], execution: {} },
    ],
  });
  expect(one).toEqual({ description: "pays", inputSchema: schema });
  expect(isSame(one, other)).toBe(true);
});

test.each([
  { title: "Pay" },
  { description: "pays all" },
  { inputSchema: { required: ["b", "a"] } },
  { outputSchema: {} },
  { annotations: { readOnlyHint: true } },
])("a change of any member that the model gets is a change, and only that member is shown: %j", (change) => {
  const was = { description: "pays", inputSchema: { required: ["a", "b"] } };
  const now = { ...was, ...change };
  expect(isSame(was, now)).toBe(false);
  const [name = ""] = Object.keys(change);
  expect(changeOf(was, now)).toEqual({
    was: { [name]: was[name as keyof typeof was] ?? null },
    now: { [name]: change[name as keyof typeof change] },
  });
});

test("lists tools as a server sends them, also twice, and ignores what is no tool", () => {
  const tools = [null, "pay", { name: 1 }, { name: "pay" }, { name: "pay", title: "Pay" }];
  expect(definitionsIn({ tools })).toEqual([
    ["pay", {}],
    ["pay", { title: "Pay" }],
  ]);
  expect(definitionsIn({})).toEqual([]);
});
