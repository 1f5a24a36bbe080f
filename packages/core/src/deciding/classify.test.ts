import { expect, test } from "vitest";
import { classifyAction } from "./classify.ts";

test.each(["phi", "PHI", " phi", "Phi\t"])("the data class %j is phi", (name) => {
  const intent = { agent: { id: "a" }, action: { verb: "read_chart" }, data_classes: [name] };
  expect(classifyAction(intent, new Map()).data_classes).toEqual(["phi"]);
  const entry = { verb: "read_chart", type: "data.read", data_classes: [name] };
  expect(classifyAction({ ...intent, data_classes: [] }, new Map([[entry.verb, entry]])).data_classes).toEqual(["phi"]);
});
