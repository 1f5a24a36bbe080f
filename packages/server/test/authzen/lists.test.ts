/** Source: docs/decisions/0049-authzen.md */
import { describe, expect, test } from "vitest";
import { call } from "../../src/testing/nodes/http-node.ts";
import { access, decisions, testGateway } from "./gateway.ts";

const { url, org, post, list } = await testGateway();

describe("a list of evaluations", () => {
  const [yes, no] = [() => access("read"), () => access("wire")];
  const semantic = (evaluations_semantic: string) => ({ options: { evaluations_semantic } });

  test("answers each in order, and every failure as false with its error", async () => {
    const broken = { ...yes(), action: { name: 7 } };
    const reserved = access("read", { action: { name: "read", properties: { authzen: 1 } } });
    const answers = await list({ evaluations: [yes(), broken, no(), "text", reserved, yes()] });
    expect(decisions(answers)).toEqual([true, false, false, false, false, true]);
    for (const at of [1, 3, 4])
      expect(answers[at].context.error).toMatchObject({ status: 400, code: "invalid_request" });
    expect(answers[2].context).toMatchObject({ verdict: "block", reasons: [{ policy: "wires" }] });
    expect(answers[4].context.error.details[0].path).toBe("/action/properties/authzen");
  });

  test("deny_on_first_deny stops after the first false, and records nothing after it", async () => {
    const [first, failed, last] = [yes(), {}, yes()];
    const answers = await list({ ...semantic("deny_on_first_deny"), evaluations: [first, failed, last] });
    expect(decisions(answers)).toEqual([true, false]);
    expect(decisions(await list({ ...semantic("deny_on_first_deny"), evaluations: [yes(), no(), yes()] }))).toEqual([
      true,
      false,
    ]);
    const of_last = await call(url, "GET", "/v1/intents?limit=200", { key: org.admin });
    const targets = of_last.json.intents.map(
      (each: { action: { target: { identifier: string } } }) => each.action.target.identifier,
    );
    expect(targets).toContain(first.resource.id);
    expect(targets).not.toContain(last.resource.id);
  });

  test("permit_on_first_permit stops after the first true", async () => {
    const answers = await list({ ...semantic("permit_on_first_permit"), evaluations: [no(), {}, yes(), yes()] });
    expect(decisions(answers)).toEqual([false, false, true]);
    expect(decisions(await list({ ...semantic("permit_on_first_permit"), evaluations: [no(), no()] }))).toEqual([
      false,
      false,
    ]);
  });

  test("reserves in order: what has no room comes last, and identical ones are one", async () => {
    const one = access("draw");
    const others = [1, 2, 3].map((at) => ({ ...one, context: { at } }));
    const answers = await list({ evaluations: [one, one, ...others] });
    expect(decisions(answers)).toEqual([true, true, false, false, false]);
    expect(answers[1].context.intent_id).toBe(answers[0].context.intent_id);
  });

  test("400 for more than 50, for another semantic, and for wrong defaults", async () => {
    for (const body of [
      { evaluations: Array.from({ length: 51 }, yes) },
      { ...semantic("any"), evaluations: [yes()] },
      { options: 1, evaluations: [yes()] },
      { subject: "alice", evaluations: [yes()] },
      { subject: { type: "user" }, evaluations: [yes()] },
      { evaluations: yes() },
      { evaluations: [], action: { name: "read" } },
    ])
      expect((await post("/access/v1/evaluations", body)).status).toBe(400);
    expect(await list({ evaluations: Array.from({ length: 50 }, yes) })).toHaveLength(50);
  });
});
