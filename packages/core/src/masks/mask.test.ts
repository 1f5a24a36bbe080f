import type { Decision, IntentRecord } from "@countersign/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decisionForPeople, factsForPeople, intentForPeople } from "./for-people.ts";
import { maskedContent, maskingOf } from "./mask.ts";

const shown = (content: object, places: readonly string[] = []) => maskedContent(content, maskingOf(content, places));

test("places of policies and credentials are masked, and other quotes of them", () => {
  const content = {
    items: [{ id: 1, ssn: "123-45-6789" }],
    pin: { a: "4711-a" },
    password: "hunter2",
    tokens: 5,
    token: "",
  };
  const note = "ssn 123 45 6789, hunter2, 4711-a";
  expect(shown({ ...content, note }, ["/items/0/ssn", "/pin", "/none"])).toEqual({
    ...{ items: [{ id: 1, ssn: "[masked]" }], pin: "[masked]", password: "[masked]", tokens: 5, token: "" },
    note: "ssn [masked], [masked], [masked]",
  });
});

test("only the credential in a longer text is masked; lists under a credential name are masked entirely", () => {
  expect(shown({ command: "psql postgres://app:hunter2@db", secrets: ["a"], secret: ["b", "c"] })).toEqual({
    command: "psql postgres://app:[masked]@db",
    secrets: ["a"],
    secret: ["[masked]", "[masked]"],
  });
  expect(maskingOf({ a: [{ apiKey: "xyz1" }], b: "DB_PASSWORD=hunter2" }).places).toEqual(["/a/0/apiKey", "/b"]);
});

test("a mask written by an agent is not masked elsewhere", () => {
  const content = { password: "[masked]", secret: "masked", note: "[masked] masked" };
  expect(shown(content)).toEqual({ ...content, secret: "[masked]" });
});

const word = fc.stringMatching(/^[a-z]{1,8}$/);
const secret = fc.stringMatching(/^[A-Z0-9]{6,20}$/).map((text) => `Q${text}Z`);

test("people never see a masked value, even if the agent quotes it elsewhere", () => {
  fc.assert(
    fc.property(fc.array(secret, { minLength: 1, maxLength: 4 }), word, fc.jsonValue(), (secrets, before, other) => {
      const quote = `${before} ${secrets.join("")}${before}${secrets.join(" ")}`;
      const content = {
        ...{ other, quote, list: secrets.map((each) => ({ secret: each, hidden: each })), nested: { [quote]: quote } },
        ...{ api_key: secrets[0], by_policy: { deep: [secrets, 7] } },
      };
      const masking = maskingOf(content, ["/by_policy", "/list/0/hidden"]);
      const intent = {
        ...{ intent_id: "int_1", agent: { id: "a", session_id: quote, on_behalf_of: quote }, data_classes: [quote] },
        ...{ action: { verb: "v", target: { type: quote, identifier: quote } }, payload: { summary: quote, content } },
        ...{ decided_as: { type: "t", data_classes: [quote] }, estimated_impact: { regulatory_domains: [quote] } },
      } as unknown as IntentRecord;
      const modifications = [
        { op: "add", path: "/copied", value: { quote }, policy_id: "p" },
        { op: "replace", path: "/password", value: secrets[0], policy_id: "p" },
        { op: "remove", path: "/other", policy_id: "p" },
      ];
      const decision = { modifications, modified_content: { ...content, copied: { quote } } } as unknown as Decision;
      const facts = { security: { x: { value: { quote }, source: "inline", as_of: "" } } };
      const people = JSON.stringify([
        intentForPeople(intent, masking),
        decisionForPeople(decision, masking),
        factsForPeople(facts as never, masking),
      ]);
      for (const each of secrets) expect(people).not.toContain(each);
    }),
  );
});
