import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { shownAnswer, shownIntent } from "../../packages/console/src/parts/records/shown.ts";
import { hiddenTexts, type IntentAnswer, type IntentRecord } from "../../packages/contract/src/index.ts";
import { withoutTexts } from "../../packages/core/src/index.ts";
import { follow } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();
const card = "4111222233334444";

describe("a redacted value", () => {
  const recordOf = (content: object, withheld: string[], summary: string, target: object): IntentRecord =>
    ({
      ...{ agent: { id: "bot" }, action: { verb: "pay", target }, payload: { content, summary }, withheld },
      decided_as: { type: "other.pay", data_classes: [] },
    }) as unknown as IntentRecord;

  test("is redacted in summary and target as the service redacts it in escalations", () => {
    const value = fc.oneof(
      fc.stringMatching(/^[a-c4 ]{0,8}$/),
      fc.stringMatching(/^[44 .-]{6,9}$/),
      fc.integer(),
      fc.constantFrom<unknown>(true, null, [44_444, "abcab"], { "a b-4444": "abc", field: "4444", 'ab"c': 1 }),
    );
    const content = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), value, { noNullPrototype: true });
    fc.assert(
      fc.property(content, fc.subarray(["a", "b", "c"]), fc.array(value, { maxLength: 4 }), (all, gone, said) => {
        const text = [...said, ...Object.values(all)].map((each) => JSON.stringify(each)).join(" ");
        const there = gone.filter((name) => Object.hasOwn(all, name));
        const left = Object.fromEntries(Object.entries(all).filter(([name]) => !there.includes(name)));
        const hidden = hiddenTexts(all, left);
        const places = there.map((name) => `/${name}`);
        const shown = shownIntent(recordOf(all, places, text, { identifier: text }));
        expect([shown.payload?.summary, shown.action.target]).toEqual(
          withoutTexts([text, { identifier: text }], hidden),
        );
        for (const name of there) expect(shown.payload?.content?.[name]).toMatch(/^\(redacted by a rule/);
      }),
    );
  });

  test("is redacted in the modified action if no change removed it, and replacements stay", () => {
    const answer = (modified_content: object | null) =>
      shownAnswer({
        intent: recordOf({ card, list: [1, { pin: 1234 }] }, ["/card", "/list/1/pin"], "", {}),
        facts: {},
        decision: { modified_content },
      } as unknown as IntentAnswer).decision.modified_content;
    expect(answer(null)).toBeNull();
    expect(answer({ card, list: [1, { pin: 1234 }], note: 1 })).toEqual({
      card: expect.stringMatching(/^\(redacted by a rule/),
      list: [1, { pin: expect.stringMatching(/^\(redacted by a rule/) }],
      note: 1,
    });
    expect(answer({ card: "[redacted]", list: [1, {}] })).toEqual({ card: "[redacted]", list: [1, {}] });
    expect(answer({ card: "[redacted]", note: [`of ${card}`, Number(card), 1234] })).toEqual({
      card: "[redacted]",
      note: ["of [redacted]", "[redacted]", "[redacted]"],
    });
  });

  test("stays as received if the service masked it, so that an edit can keep it; and is hidden if it came whole", () => {
    const paths = { withheld: ["/card", "/key"], masked: ["/key"] };
    const shownOf = (key: string) => {
      const intent = { ...recordOf({ card: "4111 [masked]", key }, [], `for ${key}`, {}), ...paths };
      const answer = { intent, facts: {}, decision: { modified_content: null } } as unknown as IntentAnswer;
      return shownAnswer(answer).intent.payload;
    };
    const card = "(redacted by a rule)";
    expect(shownOf("[masked]")).toEqual({ summary: "for [masked]", content: { card, key: "[masked]" } });
    expect(shownOf("hunter2!")).toEqual({ summary: "for [redacted]", content: { card, key: card } });
  });

  test("is redacted in names that a reviewer added; names that the parameters show stay", () => {
    const content = { card, a4111222233334444: { b4111222233334444: 1 } };
    const modified_content = {
      ...content,
      card: "[redacted]",
      [`to ${card}`]: 1,
      [card]: { [`of ${card}`]: 2, [card]: 3 },
    };
    const answer = { intent: recordOf(content, ["/card"], "", {}), facts: {}, decision: { modified_content } };
    expect(shownAnswer(answer as unknown as IntentAnswer).decision.modified_content).toEqual({
      card: "[redacted]",
      a4111222233334444: { b4111222233334444: 1 },
      "to [redacted]": 1,
      "[redacted]": { "of [redacted]": 2, "[redacted]": 3 },
    });
  });

  test("is redacted in the agent's statements about itself, the data and facts; other numbers stay", () => {
    const grouped = "4111 2222-3333 4444";
    const intent = {
      ...recordOf({ card, amount: 5000 }, ["/card", "/amount"], "", {}),
      agent: { id: "bot", framework: `for ${card}`, session_id: grouped, on_behalf_of: `holder of ${grouped}` },
      estimated_impact: { audience_size: 5000, regulatory_domains: [`pci ${grouped}`] },
      data_classes: [`class ${card}`],
      decided_as: { type: "other.pay", data_classes: [`class ${card}`] },
    };
    const used = (value: unknown) => ({ value, source: "inline", as_of: "2026-11-26T12:00:00.000000Z" });
    const facts = {
      identity: {
        delegation_limit_usd: used(15_000),
        limit: used(5000),
        [`of_${card}`]: used([Number(card), grouped]),
      },
      security: { siem_ref: used({ [card]: `of ${card}` }) },
    };
    const answer = { intent, facts, decision: { modified_content: null } } as unknown as IntentAnswer;
    const shown = shownAnswer(answer);
    const left = "[redacted]";
    expect(shown.intent.agent).toEqual({
      ...{ id: "bot", framework: `for ${left}`, session_id: left, on_behalf_of: `holder of ${left}` },
    });
    expect([shown.intent.data_classes, shown.intent.decided_as.data_classes]).toEqual([
      [`class ${left}`],
      [`class ${left}`],
    ]);
    expect(shown.intent.estimated_impact).toEqual({ audience_size: 5000, regulatory_domains: [`pci ${left}`] });
    expect(shown.facts).toEqual({
      identity: { delegation_limit_usd: used(15_000), limit: used(5000), [`of_${left}`]: used([left, left]) },
      security: { siem_ref: used({ [left]: `of ${left}` }) },
    });
  });

  test("the page shows and sends no change that nobody made: shown parameters stay in the modified action", () => {
    const content = { card, memo: [`Refund to ${card}`, { total: `${card}00` }], cents: Number(`${card}0`) };
    const modified_content = { ...content, card: "[redacted]", note: "new" };
    const answer = { intent: recordOf(content, ["/card"], "", {}), facts: {}, decision: { modified_content } };
    const { intent, decision } = shownAnswer(answer as unknown as IntentAnswer);
    expect(decision.modified_content).toEqual({ ...intent.payload?.content, card: "[redacted]", note: "new" });
  });
});

inBrowser("the pages", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
    const rules = {
      redact: { when: "has(params.card)", effect: "approve_modified", modify: [{ op: "redact", path: "/card" }] },
      ask: { when: "has(params.ask)", effect: "escalate" },
      stop: { when: "has(params.stop)", effect: "block" },
      cap: { when: "has(params.a)", effect: "approve_modified", modify: [{ op: "cap", path: "/a", value: "100" }] },
    };
    for (const [name, spec] of Object.entries(rules)) {
      const policy = {
        apiVersion: "countersign/v1",
        kind: "Policy",
        metadata: { name },
        spec: { ...spec, match: { actions: ["other.pay"] }, on_unknown: "skip" },
      };
      const saved = await api<{ policy: { policy_id: string } }>(console_.url, seeded.admin, "POST", "/v1/policies", {
        policy,
      });
      const path = `/v1/policies/${saved.policy.policy_id}/activate`;
      await api(console_.url, seeded.admin, "POST", path, { mode: "live" });
    }
  }, test_timeout_ms);

  test("of a block, of an open, blocked or approved review, and of a conflict do not show it", {
    timeout: test_timeout_ms,
  }, async () => {
    const pay = (content: object) =>
      submit(
        console_.url,
        seeded.agent,
        intent("other.pay", { ...content, card }, { target: `card ${card}`, summary: `Pay with ${card}` }),
      );
    const of = (ruled: { decision: { escalation_id: string | null } }) =>
      `/v1/escalations/${ruled.decision.escalation_id}`;
    const cases = {
      changed: await pay({}),
      blocked: await pay({ stop: 1 }),
      open: await pay({ ask: 1 }),
      conflict: await pay({ a: "500" }),
      cancelled: await pay({ ask: 2 }),
      approved: await pay({ a: "501" }),
    };
    await api(console_.url, seeded.operator, "POST", `${of(cases.cancelled)}/cancel`, {});
    await api(console_.url, seeded.reviewer, "POST", `${of(cases.approved)}/decision`, { outcome: "approve" });
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/settings");
    for (const [name, { intent_id, decision }] of Object.entries(cases)) {
      const paths = [`/decisions/${intent_id}`];
      if (decision.escalation_id !== null) paths.push(`/escalations/${decision.escalation_id}`);
      for (const path of paths) {
        await follow(page, path);
        await page.getByText("(redacted by a rule)").first().waitFor();
        await page.getByText("Pay with [redacted]").first().waitFor();
        await page.getByText("Facts", { exact: true }).first().waitFor();
        expect(await page.content(), `${name} ${path}`).not.toContain(card);
      }
    }
    await follow(page, "/decisions");
    await page.getByText("card [redacted]").first().waitFor();
    expect(await page.content()).not.toContain(card);
    expect(wrongs).toEqual([]);
  });
});
