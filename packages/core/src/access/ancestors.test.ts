import { expect, test } from "vitest";
import { registeredAbove, superiorsOf } from "./ancestors.ts";

const parents = new Map([
  ["worker", "Lead"],
  ["lead", "Boss"],
]);
const named = (id: string, parent?: string) => superiorsOf(parents, { id, parent });

test("the agents above an agent are found in any case, the nearest first", () => {
  expect(registeredAbove(parents, "WORKER")).toEqual(["Lead", "Boss"]);
  expect(registeredAbove(parents, "boss")).toEqual([]);
});

test("the parent in the register wins over the submitted one", () => {
  expect(named("worker", "helper")).toEqual([
    { id: "Lead", source: "register" },
    { id: "Boss", source: "register" },
  ]);
});

test("a submitted parent is followed by the agents that are registered above it", () => {
  expect(named("new", "worker")).toEqual(["worker", "Lead", "Boss"].map((id) => ({ id, source: "submitted" })));
  expect(named("new")).toEqual([]);
});

test("a verified chain of delegation counts together with the register", () => {
  expect(superiorsOf(parents, { id: "helper", parent: "other" }, ["ann", "worker", "helper"])).toEqual([
    { id: "worker", source: "token" },
    { id: "ann", source: "token" },
    { id: "Lead", source: "register" },
    { id: "Boss", source: "register" },
  ]);
  expect(superiorsOf(parents, { id: "helper", parent: "other" }, ["helper"])).toMatchObject([{ id: "other" }]);
});

test("no agent is above itself", () => {
  expect(named("new", "NEW")).toEqual([]);
  expect(named("boss", "worker").map(({ id }) => id)).toEqual(["worker", "Lead"]);
  const circle = new Map([
    ["a", "b"],
    ["b", "a"],
  ]);
  expect(registeredAbove(circle, "a")).toEqual(["b"]);
});
