/** The packs that count, over sequences of actions: each approved or held action counts for the later ones. */
import { describe, expect, test } from "vitest";
import { CounterHistory } from "../../packages/core/src/counters/history.ts";
import { decide } from "../../packages/core/src/deciding/decide.ts";
import type { Decided } from "../../packages/core/src/deciding/decision.ts";
import { compilePolicySet } from "../../packages/core/src/deciding/policy-set.ts";
import { plainMembrane, runPolicyTests } from "../../packages/core/src/deciding/run-tests.ts";
import { mergeFacts } from "../../packages/core/src/facts/merge.ts";
import { packSources } from "../../packages/core/src/packs/pack-sources.ts";
import { packNames, packOf } from "../../packages/core/src/testing/packs.ts";

const us_per_minute = 60_000_000;
const start_us = 1_800_000_000_000_000;

interface Step {
  readonly minute: number;
  readonly type: string;
  readonly verb?: string;
  readonly agent?: string;
  readonly session?: string;
  readonly target?: Readonly<Record<string, string>>;
  readonly content?: Readonly<Record<string, unknown>>;
}

/** Decides the actions in order under one pack, and returns the rules that stopped each. */
function replay(pack: string, steps: readonly Step[], facts: Readonly<Record<string, object>> = {}): string[][] {
  const policies = packSources(new Map([[pack, packOf(pack)]]), [pack]).filter(
    ({ document }) => pack !== "tcpa" || document.metadata.name === "tcpa.frequency-cap",
  );
  const policySet = compilePolicySet({ policies, version: 1 });
  const histories = new Map<string, CounterHistory>();
  const historyOf = (name: string, key: string): CounterHistory => {
    const place = `${name} ${key}`;
    const found = histories.get(place) ?? new CounterHistory();
    histories.set(place, found);
    return found;
  };
  return steps.map((step, index) => {
    const now_us = start_us + step.minute * us_per_minute;
    const { agent = "bot", session, type, verb = type, target, content = {} } = step;
    const intent = {
      agent: { id: agent, ...(session === undefined ? {} : { session_id: session }) },
      action: { type, verb, ...(target && { target }) },
      payload: { content },
    };
    const document = { contract_version: "1" as const, facts };
    const decided: Decided = decide({
      intent,
      facts: mergeFacts([{ source: "org", document, received_us: now_us }]),
      policySet,
      membrane: plainMembrane,
      mode: "live",
      now_us,
      attested: true,
      counts: { read: (track, key, own) => historyOf(track.name, key).read(track, now_us, own, null) },
    });
    const state = decided.content.verdict === "escalate" ? "pending" : "approve";
    for (const { name, key, micros, values } of decided.counted)
      historyOf(name, key).add({ intent_id: `int_${index}`, at_us: now_us, micros, state, values });
    return decided.content.reasons.map(({ policy }) => policy);
  });
}

const times = (n: number, step: (at: number) => Step): Step[] => Array.from({ length: n }, (_, at) => step(at));
const last = (stopped: readonly string[][]): readonly string[] => stopped.at(-1) ?? [];
const pays = (minute: number, amount_usd: number, recipient: string): Step => ({
  minute,
  type: "payment.transfer",
  content: { amount_usd, recipient },
});

describe("the pack limits", () => {
  test("stops the sixth thousand of an agent in 24 hours, and lets it pass a day later", () => {
    const five = times(5, (at) => pays(at * 60, 1_000, `to-${at}`));
    expect(replay("limits", five).flat()).toEqual([]);
    expect(last(replay("limits", [...five, pays(300, 0.01, "x")]))).toEqual(["limits.agent-spend"]);
    expect(last(replay("limits", [...five, pays(1_440, 1_000, "x")]))).toEqual([]);
  });

  test("counts an agent under each spelling of its id", () => {
    const spelled = times(6, (at) => ({ ...pays(at, 1_000, `to-${at}`), agent: at % 2 ? "Bot" : "bot" }));
    expect(last(replay("limits", spelled))).toEqual(["limits.agent-spend"]);
  });

  test("counts the payments to one recipient, whichever agents make them", () => {
    const six = times(6, (at) => ({ ...pays(at, 10, "acme"), agent: `bot-${at}` }));
    expect(replay("limits", six)).toEqual([[], [], [], [], [], ["limits.recipient-payments"]]);
    const mcp = times(9, (at): Step => ({ minute: at, type: "payment.transfer", content: { amount_usd: 1 } }));
    const target = { type: "mcp_server", identifier: "bank" };
    expect(
      replay(
        "limits",
        mcp.map((step) => ({ ...step, target })),
      ).flat(),
    ).toEqual([]);
  });

  test("finds payments just below the threshold that two agents split", () => {
    const split = [{ ...pays(0, 9_500, "acme"), agent: "a" }, pays(1, 9_500, "zeta"), pays(2, 7_000, "ACME")];
    expect(replay("limits", split).map((names) => names.includes("limits.structuring"))).toEqual([false, false, true]);
  });

  test("holds what an agent sends within ten minutes after it read a secret, in its session too", () => {
    const read: Step = { minute: 0, type: "data.read", verb: "get_secret_value", session: "s" };
    const mail = (minute: number, agent: string, session?: string): Step => ({
      minute,
      type: "communication.email",
      agent,
      ...(session === undefined ? {} : { session }),
    });
    const rule = ["limits.secret-then-egress"];
    expect(replay("limits", [read, mail(9, "bot")])).toEqual([[], rule]);
    expect(replay("limits", [read, mail(9, "other", "s")])).toEqual([[], rule]);
    expect(replay("limits", [read, mail(9, "other", "t")])).toEqual([[], []]);
    expect(replay("limits", [read, mail(10, "bot", "s")])).toEqual([[], []]);
    expect(replay("limits", [mail(0, "bot"), { ...read, minute: 1 }])).toEqual([[], []]);
  });

  test("finds a burst of a quiet agent, and leaves a busy one alone", () => {
    const updates = (n: number, minute: (at: number) => number): Step[] =>
      times(n, (at) => ({ minute: minute(at), type: "record.update" }));
    const burst = updates(30, (at) => 1_439 + at / 10);
    expect(last(replay("limits", [...updates(40, (at) => at * 30), ...burst]))).toEqual(["limits.burst"]);
    expect(replay("limits", [...updates(700, (at) => at * 2), ...burst]).flat()).toEqual([]);
  });
});

describe("tcpa.frequency-cap", () => {
  const florida = { environmental: { recipient_state: "FL" } };
  const call = (minute: number, to: unknown, more: object = {}): Step => ({
    minute,
    type: "communication.call",
    content: { to, ...more },
  });

  test("counts each spelling of a number as one, and every agent", () => {
    const calls = [call(0, "+1 (305) 555-0100"), { ...call(1, "3055550100"), agent: "other" }, call(2, 13055550100)];
    expect(replay("tcpa", [...calls, call(3, "+44 20 7946 0000")], florida).flat()).toEqual([]);
    expect(last(replay("tcpa", [...calls, call(3, "1-305-555-0100")], florida))).toEqual(["tcpa.frequency-cap"]);
    expect(last(replay("tcpa", [...calls, call(1_440, "1-305-555-0100")], florida))).toEqual([]);
  });

  test("does not count what is no solicitation", () => {
    const told = times(9, (at) => call(at, "3055550100", { purpose: "transactional" }));
    expect(replay("tcpa", [...told, call(9, "3055550100")], florida).flat()).toEqual([]);
  });
});

test("the tests in the policies of all packs are green", () => {
  const red = packNames
    .flatMap((name) => packOf(name).rules)
    .flatMap((rule) => runPolicyTests(rule).filter(({ passed }) => !passed));
  expect(red).toEqual([]);
});
