import { expect, test } from "vitest";
import { differencesText } from "./differences.ts";

test.each([
  ["send_m\u043eney", "send_money", '"\u043e" (U+043E) for "o" (U+006F)'],
  ["send-money", "send_money", '"-" (U+002D) for "_" (U+005F)'],
  ["sendmoney", "send_money", '"_" (U+005F) is left out'],
  ["send__money", "send_money", '"_" (U+005F) is added'],
  ["send\u200b_money", "send_money", 'U+200B for "_" (U+005F), "_" (U+005F) is added'],
  ["Send_rnoney", "send_money", '"rn" (U+0072 U+006E) for "m" (U+006D)'],
  [
    "SEND_money",
    "send_money",
    '"S" (U+0053) for "s" (U+0073), "E" (U+0045) for "e" (U+0065), "N" (U+004E) for "n" (U+006E), "D" (U+0044) for "d" (U+0064)',
  ],
  [
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458",
    "aeopcyxij",
    expect.stringMatching(/"\u0456" \(U\+0456\) for "i" \(U\+0069\) and 1 more$/),
  ],
])("%j differs from %j: %s", (given, known, text) => expect(differencesText(given, known)).toEqual(text));
