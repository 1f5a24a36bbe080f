import { createHash } from "node:crypto";
import type { Confirm } from "@countersign/contract";
import { expect, test } from "vitest";
import type { StoredAction } from "./decide-again.ts";
import type { Ruling } from "./escalation.ts";
import { changedContent, isChangeShown, isConfirmedEnough, rulingText } from "./signed-ruling.ts";

test("a passkey serves where a code is asked for, and not the other way round", () => {
  const kinds: (Confirm | null)[] = [null, "totp", "passkey"];
  const enough = kinds.map((given) => kinds.map((asked) => isConfirmedEnough(given, asked)));
  expect(enough).toEqual([
    [true, false, false],
    [true, true, false],
    [true, true, true],
  ]);
});

const facts = {
  org_id: "org_1",
  escalation_id: "esc_1",
  intent_id: "int_1",
  person: "usr_1",
  outcome: "approve" as const,
  intent_sha256: "11",
  data_sha256: "22",
  at: "2026-11-28T12:00:00.000000Z",
};

test("the text of a ruling is canonical JSON, with the salted hash of a change", () => {
  expect(rulingText({ ...facts, changed: null })).toBe(
    '{"at":"2026-11-28T12:00:00.000000Z","changed_sha256":null,"data_sha256":"22","escalation_id":"esc_1",' +
      '"format":"countersign.ruling.v1","intent_id":"int_1","intent_sha256":"11","org_id":"org_1","outcome":"approve","person":"usr_1"}',
  );
  const changed = { salt: "salt", text: '{"amount":4}' };
  const hash = createHash("sha256").update('salt{"amount":4}').digest("hex");
  expect(JSON.parse(rulingText({ ...facts, changed }))).toMatchObject({ changed_sha256: hash });
});

const own = { op: "replace", path: "/amount", value: 4, policy_id: null } as const;
const ruling = (modified_content: object, modifications: readonly object[] = [own]) =>
  ({
    outcome: "approve_modified",
    modifications,
    modified_content,
    wanted_content: modified_content,
  }) as unknown as Ruling;
const action = (content: object, withheld: string[] = []) =>
  ({
    intent: { submitted: { payload: { content } }, withheld },
    decision: {},
    resolution: null,
  }) as unknown as StoredAction;

test("only a reviewer's own change counts as one", () => {
  const by_rule = [{ ...own, policy_id: "pol_1" }];
  expect(changedContent(null, "s")).toBeNull();
  expect(changedContent(ruling({ amount: 4 }, by_rule), "s")).toBeNull();
  expect(changedContent(ruling({ b: 1, amount: 4 }), "s")).toEqual({ salt: "s", text: '{"amount":4,"b":1}' });
});

test.each<[what: string, content: object, changed: object, withheld: string[], shown: boolean]>([
  ["nothing", { amount: 5 }, { amount: 4 }, [], true],
  ["a credential", { amount: 5, password: "hunter22" }, { amount: 4, password: "hunter22" }, [], false],
  ["a new credential", { amount: 5 }, { amount: 4, password: "hunter22" }, [], false],
  [
    "a redacted text that a change repeats",
    { iban: "DE89370400440532013000" },
    { note: "DE89370400440532013000" },
    ["/iban"],
    false,
  ],
])("a change with %s hidden is shown only if people may see all of it", (_, content, changed, withheld, shown) => {
  expect(isChangeShown(action(content, withheld), ruling(changed), [])).toBe(shown);
});

test("a text that a rule hides now is not shown", () => {
  expect(isChangeShown(action({ amount: 5 }), ruling({ note: "secret plan" }), ["secret plan"])).toBe(false);
});
