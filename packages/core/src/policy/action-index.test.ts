import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ActionIndex, type Match } from "./action-index.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const key = { type: "payment.transfer", verb: "send_money", agent_id: "agent-1" };
const find = (...matches: Match[]): readonly number[] => new ActionIndex(matches).candidates(key);

describe("the action index", () => {
  test("finds exact names, prefixes, and policies that match everything", () => {
    expect(
      find(
        { actions: ["payment.transfer"] },
        { actions: ["payment.*"] },
        { actions: ["data.*"] },
        {},
        { actions: [] },
        { actions: ["*"] },
      ),
    ).toEqual([0, 1, 3, 4, 5]);
  });

  test("checks every dimension that a policy names", () => {
    expect(
      find(
        { actions: ["payment.*"], verbs: ["send_*"], agents: ["agent-1"] },
        { actions: ["payment.*"], verbs: ["other"] },
        { verbs: ["send_money"], agents: ["agent-2"] },
        { agents: ["agent-*"] },
      ),
    ).toEqual([0, 3]);
  });

  test("an exclusion of any kind removes a policy", () => {
    expect(
      find(
        { actions: ["payment.*"], exclude: { actions: ["payment.transfer"] } },
        { exclude: { verbs: ["send_*"] } },
        { exclude: { agents: ["agent-1"] } },
        { exclude: { agents: ["agent-2"], actions: [] } },
      ),
    ).toEqual([3]);
  });

  test("agrees with testing every policy, also from the cache", () => {
    const pattern = fc.constantFrom("a", "a.b", "a.*", "a*", "*", "b", "b.c");
    const patterns = fc.option(fc.array(pattern, { maxLength: 2 }), { nil: undefined });
    const plain = fc.record({ actions: patterns, verbs: patterns, agents: patterns });
    const match = fc
      .tuple(plain, fc.option(plain, { nil: undefined }))
      .map(([own, exclude]) => ({ ...own, exclude }) as Match);
    const name = fc.constantFrom("a", "a.b", "a.b.c", "b", "b.c", "constructor");
    const keys = fc.array(fc.record({ type: name, verb: name, agent_id: name }), { minLength: 1, maxLength: 5 });
    const fits = (list: readonly string[] | undefined, text: string, empty: boolean): boolean =>
      list === undefined || list.length === 0
        ? empty
        : list.some((p) => (p.endsWith("*") ? text.startsWith(p.slice(0, -1)) : p === text));
    fc.assert(
      fc.property(fc.array(match, { maxLength: 8 }), keys, (matches, asked) => {
        const index = new ActionIndex(matches);
        for (const k of [...asked, ...asked]) {
          const expected = matches.flatMap((m, position) => {
            const inside =
              fits(m.actions, k.type, true) && fits(m.verbs, k.verb, true) && fits(m.agents, k.agent_id, true);
            const e = m.exclude;
            const out =
              e !== undefined &&
              (fits(e.actions, k.type, false) || fits(e.verbs, k.verb, false) || fits(e.agents, k.agent_id, false));
            return inside && !out ? [position] : [];
          });
          expect(index.candidates(k)).toEqual(expected);
        }
      }),
    );
  });

  test("keeps one list for all actions that the same policies match", () => {
    const index = new ActionIndex([{ actions: ["payment.*"] }, { actions: ["data.*"] }, { exclude: { verbs: ["x"] } }]);
    const list = index.candidates(key);
    expect(list).toEqual([0, 2]);
    expect(index.candidates({ ...key, agent_id: "agent-2" })).toBe(list);
    expect(index.candidates({ ...key, verb: "other" })).toBe(list);
    expect(index.candidates({ ...key, type: "payment.charge" })).toBe(list);
    expect(index.candidates({ ...key, verb: "x" })).toEqual([0]);
  });

  test("keeps a limited number of names", () => {
    const index = new ActionIndex([...Array(50).fill({}), { verbs: ["v"], agents: ["a"] }]);
    const heap_bytes = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    index.candidates(key);
    const before = heap_bytes();
    for (let i = 0; i < 10_000; i += 1) {
      const found = index.candidates({ ...key, verb: `verb-${i % 100}`, agent_id: `agent-${i}` });
      if (found.length !== 50) expect.unreachable(`agent-${i} has ${found.length} candidates`);
    }
    expect(heap_bytes() - before).toBeLessThan(1_000_000);
    expect(index.candidates(key)).toHaveLength(50);
  });
});
