import { expect, test } from "vitest";
import { decide } from "../deciding/decide.ts";
import { inputOf } from "../testing/deciding.ts";
import { replayIntent } from "./replay.ts";

test("the counts of a replayed decision contain no redacted text", () => {
  const consent = "params.patients.exists(k, params.patients[k].consent == false)";
  const policies = [
    { name: "consent", spec: { when: consent, effect: "block", on_unknown: "escalate" } },
    {
      name: "hidden",
      spec: { when: "true", effect: "approve_modified", modify: [{ op: "redact", path: "/patients" }] },
    },
  ];
  const content = { patients: { "123-45-6789": { name: "Ann" } } };
  for (const [set, path] of [
    [policies, 'params.patients["[redacted]"].consent'],
    [policies.slice(0, 1), 'params.patients["123-45-6789"].consent'],
  ] as const) {
    const input = inputOf(set, { intent: { content } });
    const replayed = replayIntent({ ...input, attested: false, lifts: null, freezes: [] }, input);
    const said = replayed
      .bare_reasons()
      .map(({ policy, effect, unknown }) => [policy, effect, unknown.map(({ path }) => path)]);
    expect(said).toContainEqual(["consent", "escalate", [path]]);
    expect(said).toHaveLength(set.length);
    expect(replayed.reasons()).toEqual(decide(input).content.reasons);
  }
});
