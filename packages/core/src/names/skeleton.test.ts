import { describe, expect, test } from "vitest";
import { areOtherNumbers, cellsOf, skeletonsOf, withPart } from "./skeleton.ts";

const areAlike = (a: string, b: string): boolean =>
  skeletonsOf(a).some((each) => each !== "" && skeletonsOf(b).includes(each)) && !areOtherNumbers(a, b);

describe("names look alike", () => {
  test.each([
    ["send_money", "send-money"],
    ["send_money", "sendMoney"],
    ["send_money", "SEND MONEY"],
    ["send_money", "send.money."],
    ["send_money", "_send__money"],
    ["send_money", "send\u2014money"],
    ["send_money", "send|money"],
    ["send_money", "send\u07famoney"],
    ["send_money", "send_m\u043eney"],
    ["send_money", "send_rnoney"],
    ["send_money", "send_m0ney"],
    ["send_money", "s\u1eb9nd_money"],
    ["send_money", "\uff53end_money"],
    ["send_money", "SE\u039dD_M\u039fNEY"],
    ["send_money", "SE\u039dD_money"],
    ["send_money", "send_mone\u{1d4ce}"],
    ["send_email", "send_emaiI"],
    ["send_email", "SEND_EMAI1"],
    ["send_email", "send_emai|"],
    ["send_email", "send_ema\u0456l"],
    ["prod-db", "prod\u200b-db"],
    ["book", "\u0432ook"],
    ["данные", "дaнные"],
    ["tool_1_0", "tool-l-O"],
  ])("%j and %j", (a, b) => expect(areAlike(a, b)).toBe(true));

  test.each([
    ["send_money", "send_email"],
    ["send_money", "send_moneys"],
    ["bot-1-23", "bot-12-3"],
    ["10.1.11.1", "10.11.1.1"],
    ["tool_1_0", "tool_10"],
    ["now", "\u03bdow"],
    ["___", "---"],
  ])("%j and %j do not", (a, b) => expect(areAlike(a, b)).toBe(false));
});

describe("a part of a name", () => {
  test.each([
    ["send-money", "send_", "start", "send_money"],
    ["s\u0435nd_money", "send_", "start", "send_money"],
    ["sendMoney", "send_", "start", "send_Money"],
    [" send money", "send_", "start", "send_money"],
    ["s-end_money", "send", "start", "send_money"],
    ["send_m\u043eney", "_money", "end", "send_money"],
    ["send_m\u043eney!", "money", "end", "send_money"],
    ["do-s\u0435nd-all", "send", "anywhere", "do-send-all"],
  ] as const)("%j has what looks like %j at its %s: %j", (name, part, place, expected) =>
    expect(withPart(cellsOf(name), part, place)).toBe(expected),
  );

  test.each([
    ["sender", "send_", "start"],
    ["sendmoney", "send_", "start"],
    ["resend_money", "send_", "start"],
    ["send_money_now", "_money", "end"],
    ["send", "money", "anywhere"],
    ["a_b", "_", "anywhere"],
  ] as const)("%j has nothing like %j at its %s", (name, part, place) =>
    expect(withPart(cellsOf(name), part, place)).toBeNull(),
  );
});
