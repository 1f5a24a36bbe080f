import { expect, test } from "vitest";
import { checkPolicy } from "./check/check.ts";
import type { PolicyDocument } from "./document.ts";
import { finish } from "./expressions.ts";
import { type RecordedTool, unrecordedParameterSteps } from "./unrecorded-parameters.ts";

const tool = (verb: string, count: number, parameters: readonly string[]): RecordedTool => ({
  ...{ type: "vendor.pay", verb, count, parameters },
});

function warnings(spec: object, tools: readonly RecordedTool[]) {
  const written = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "p", title: "P" } };
  const checked = checkPolicy({ ...written, spec: { effect: "block", ...spec } });
  const steps = unrecordedParameterSteps(checked.document as PolicyDocument, checked.located, tools);
  return finish(steps).map(({ path, message, help }) => [path, message, help]);
}

const said = (name: string, count: string) =>
  `Unknown parameter params.${name}: 0 of ${count} recorded actions that this policy matches have it.`;

test("each unknown parameter is reported once, where it is first read, with a recorded name that is similar", () => {
  const spec = {
    match: { verbs: ["pay"] },
    variables: [{ name: "much", expr: "params.amout > 5.0" }],
    when: "vars.much && params.amout < 9.0 && intent.payload.content['kind'] == 'a'",
    message: "It is {{params.colour}}",
  };
  expect(warnings(spec, [tool("pay", 1_203, ["amount", "note"]), tool("send", 5_000, ["amout", "kind"])])).toEqual([
    ["/spec/variables/0/expr", said("amout", "1,203"), "Did you mean amount?"],
    ["/spec/when", said("kind", "1,203"), "They have: amount, note."],
    ["/spec/message", said("colour", "1,203"), "They have: amount, note."],
  ]);
});

test("a parameter that the policy asks for by has() may be absent, and the attested claim is the service's own", () => {
  const when = "has(params.gift) ? params.gift : !params.human_reviewed";
  expect(warnings({ when }, [tool("pay", 100, ["amount"])])).toEqual([]);
});

test("too few recorded actions say nothing", () => {
  expect(warnings({ when: "params.amout > 5.0" }, [tool("pay", 19, ["amount"])])).toEqual([]);
  expect(warnings({ when: "params.amout > 5.0" }, [tool("pay", 20, ["amount"])])).toHaveLength(1);
});
