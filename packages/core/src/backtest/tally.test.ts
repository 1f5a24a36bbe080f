import { limits, type Reason, type Verdict } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import type { ReplayedDecision } from "./replay.ts";
import { type Replayed, Tally } from "./tally.ts";

const reason = (policy: string, effect: Reason["effect"], paths: readonly string[] = []): Reason => ({
  policy_id: null,
  policy,
  version: null,
  effect,
  message: `${policy} says ${effect}`,
  citations: [],
  unknown_facts: paths.map((path) => ({ path, reason: "missing" })),
});

const decision = (verdict: Verdict, reasons: Reason[] = []): ReplayedDecision => ({
  verdict,
  action: { type: "payment.transfer", verb: "send_money" },
  bare_reasons: () =>
    reasons.map(({ policy, effect, unknown_facts }) => ({
      policy,
      effect,
      unknown: unknown_facts,
    })),
  reasons: () => reasons,
  counted: [],
});

const id = (n: number) => `int_${String(n).padStart(26, "0")}`;

const replayed = (n: number, recorded: Verdict, to: Verdict, more: Partial<Replayed> = {}): Replayed => ({
  intent_id: id(n),
  agent_id: "bot-7",
  at_us: 1_700_000_000_123_456,
  mode: "live",
  recorded,
  decision: decision(to, to === "approve" ? [] : [reason("p", to, ["facts.a.b"])]),
  ruled: null,
  amount_usd: () => undefined,
  ...more,
});

const day_us = 86_400_000_000;

describe("the tally", () => {
  test("counts people's rulings only if the replay does not escalate again", () => {
    const agreement = (...all: readonly Replayed[]) => {
      const tally = new Tally(true);
      for (const each of all) tally.add(each);
      return tally.figures(day_us).human_agreement;
    };
    expect(agreement(replayed(1, "approve", "approve"))).toBeNull();
    expect(agreement(replayed(1, "escalate", "escalate", { ruled: "approve" }))).toBeNull();
    expect(agreement(replayed(1, "escalate", "approve", { ruled: "approve" }))).toBe(1);
    expect(agreement(replayed(1, "escalate", "approve", { ruled: "block" }))).toBe(0);
    expect(agreement(replayed(1, "escalate", "block", { ruled: "block" }))).toBe(1);
    expect(agreement(replayed(1, "escalate", "approve", { ruled: "approve_modified" }))).toBe(1);
    expect(agreement(replayed(1, "escalate", "approve_modified", { ruled: "approve" }))).toBe(1);
    expect(
      agreement(
        replayed(1, "block", "block", { ruled: "approve" }),
        replayed(2, "block", "approve", { ruled: "approve" }),
        replayed(3, "escalate", "escalate", { ruled: "block" }),
      ),
    ).toBe(0.5);
  });

  test("lists a bounded number of flips and counts them all", () => {
    const tally = new Tally(false);
    for (let n = limits.backtest_flips_max + 5; n > 0; n -= 1) tally.add(replayed(n, "approve", "block"));
    const { flips, flips_total, not_reproduced, reproduced } = tally.figures(day_us);
    expect([flips.length, flips_total]).toEqual([limits.backtest_flips_max, limits.backtest_flips_max + 5]);
    expect([not_reproduced.intents.length, not_reproduced.total]).toEqual([flips.length, flips_total]);
    expect(flips[0]).toMatchObject({
      ...{ intent_id: id(limits.backtest_flips_max + 5), submitted_at: "2023-11-14T22:13:20.123456Z" },
      ...{ agent_id: "bot-7", action: { type: "payment.transfer", verb: "send_money" }, from: "approve", to: "block" },
    });
    expect(reproduced).toBe(0);
  });

  test("keeps the newest flips in either order", () => {
    const counts = [3, 2 * limits.backtest_flips_max + 1, 3 * limits.backtest_flips_max];
    for (const count of counts) {
      const tallies = [new Tally(true), new Tally(true, "oldest_first")] as const;
      for (let n = 1; n <= count; n += 1) {
        tallies[0].add(replayed(count + 1 - n, "approve", "block"));
        tallies[1].add(replayed(n, "approve", "block"));
      }
      const [down, up] = tallies.map((each) => Tally.joined(true, [each.counts()]).figures(day_us));
      expect(up).toEqual(down);
    }
  });

  test("an intent that cannot be replayed counts as evaluated, but not as reproduced or as a transition", () => {
    const tally = new Tally(false);
    tally.add(replayed(2, "block", "block"));
    tally.addUnreplayed(id(1), "approve", "packs_changed");
    expect(tally.figures(day_us)).toMatchObject({
      evaluated: 2,
      reproduced: 0.5,
      transitions: [{ from: "block", to: "block", count: 1 }],
      not_reproduced: { total: 1, intents: [{ replayed: null, because: "packs_changed" }] },
    });
  });

  test("a policy with two reasons counts once; escalations of test mode are not reviewer work", () => {
    const tally = new Tally(true);
    const twice = decision("block", [reason("p", "block"), reason("p", "escalate"), reason("q", "escalate")]);
    tally.add(replayed(1, "approve", "block", { decision: twice }));
    tally.add(replayed(2, "escalate", "escalate", { mode: "test" }));
    tally.add(replayed(3, "escalate", "escalate", { mode: "shadow" }));
    const { per_policy, escalations_per_day } = tally.figures(day_us / 2);
    expect(per_policy).toEqual([
      { policy: "p", fired: 3, decisive: 3, unknown: 2 },
      { policy: "q", fired: 1, decisive: 0, unknown: 0 },
    ]);
    expect(escalations_per_day).toEqual({ recorded: 2, candidate: 2 });
  });

  test("every flip is in one group, also those to an approval, which the recorded verdict explains", async () => {
    const tally = new Tally(true);
    const to = (verdict: Exclude<Verdict, "approve">, ...policies: string[]) =>
      decision(
        verdict,
        policies.map((policy) => reason(policy, verdict)),
      );
    for (let n = 1; n <= limits.backtest_flips_max + 1; n += 1)
      tally.add(replayed(n, "approve", "block", { decision: to("block", "q", "p"), amount_usd: () => 0.1 }));
    tally.add(replayed(5_000, "block", "approve", { amount_usd: () => 70 }));
    await tally.explain(async (ids) => new Map(ids.map((each) => [each, ["old"]])));
    expect(tally.figures(day_us).flip_groups).toEqual([
      {
        ...{
          policies: ["p", "q"],
          from: "approve",
          to: "block",
          count: limits.backtest_flips_max + 1,
          amount_usd: 100.1,
        },
        examples: [1_001, 1_000, 999, 998, 997].map(id),
      },
      { policies: ["old"], from: "block", to: "approve", count: 1, amount_usd: 70, examples: [id(5_000)] },
    ]);
  });

  test("more groups than are listed become one without policies, so that no flip is lost", () => {
    const tally = new Tally(true);
    for (let n = 1; n <= 3 * limits.backtest_flip_groups_max; n += 1)
      tally.add(replayed(n, "approve", "block", { decision: decision("block", [reason(`p${n}`, "block")]) }));
    const { flip_groups, flips_total } = tally.figures(day_us);
    expect(flip_groups.length).toBeLessThanOrEqual(limits.backtest_flip_groups_max);
    expect(flip_groups.reduce((sum, { count }) => sum + count, 0)).toBe(flips_total);
    expect(flip_groups[0]).toMatchObject({ policies: [], from: "approve", to: "block" });
  });

  test("an unknown fact names the policies that asked for it, most often first", () => {
    const tally = new Tally(true);
    const asking = (policy: string) => decision("block", [reason(policy, "block", ["facts.a.b"])]);
    for (const [n, policy] of ["q", "p", "q"].entries())
      tally.add(replayed(n, "block", "block", { decision: asking(policy) }));
    expect(tally.figures(day_us).unknown_facts).toEqual([{ path: "facts.a.b", count: 3, policies: ["q", "p"] }]);
  });

  test("several tallies joined are equal to one, for any split", () => {
    const one = new Tally(true);
    const parts = [new Tally(true), new Tally(true)];
    const verdicts: Verdict[] = ["approve", "approve_modified", "escalate", "block"];
    for (let n = 3 * limits.backtest_flips_max; n > 0; n -= 1) {
      const ruled = n % 3 === 0 ? ("approve" as const) : null;
      const to = verdicts[(n >> 2) % 4] as Verdict;
      const by = decision(to, to === "approve" ? [] : [reason(`p${n % 7}`, to, [`facts.a.b${n % 3}`])]);
      const more = { ruled, decision: by, amount_usd: () => n / 10, at_us: n * day_us };
      const each = replayed(n, verdicts[n % 4] as Verdict, to, more);
      one.add(each);
      parts[(n >> 5) % 2]?.add(each);
    }
    const joined = Tally.joined(
      true,
      parts.map((part) => structuredClone(part.counts())),
    );
    expect(joined.figures(day_us)).toEqual(one.figures(day_us));
  });
});
