import { expect, test } from "vitest";
import { checkPolicy } from "./check.ts";

const checked = (op: string, path: string, more = "", content = "{}") =>
  checkPolicy(`apiVersion: countersign/v1
kind: Policy
metadata: {name: p}
spec:
  when: "true"
  effect: approve_modified
  modify:
    - {op: redact, path: /note}
    - {op: ${op}, path: "${path}"${more}}
tests:
  - name: t
    intent: {agent: {id: a}, action: {verb: v}, payload: {content: ${content}}}
    expect: {}`);

const deep = "/a".repeat(29);

test.each([
  ["redact", "/items/-/secret", "after the last entry"],
  ["mask", "/items/-", "after the last entry"],
  ["remove", "/-", "after the last entry"],
  ["mask", "/items/**", "brackets"],
  ["mask", "/items/[*]/ssn", "brackets"],
  ["redact", "/items[0]/ssn", "brackets"],
  ["redact", "/params/ssn", "begins at payload.content"],
  ["mask", "/payload/content/ssn", "begins at payload.content"],
  ["mask", "/intent/payload/content/ssn", "begins at payload.content"],
  ["mask", deep, "deeper than"],
])("%s of %s is refused at its line", (op, path, message) => {
  const { document, diagnostics } = checked(op, path);
  expect(document).toBeNull();
  expect(diagnostics).toMatchObject([{ path: "/spec/modify/1/path", line: 9, code: "not_allowed" }]);
  expect(diagnostics[0]?.message).toContain(message);
});

test.each(["set", "cap", "floor"])("%s at many places is refused, and at a list's end everything but set", (op) => {
  const value = `, value: "1.0"`;
  expect(checked(op, "/items/*/n", value).diagnostics[0]?.message).toContain("names many places");
  expect(checked(op, "/items/-", value).diagnostics).toHaveLength(op === "set" ? 0 : 1);
});

test.each([
  ["mask", "/items/*/secret"],
  ["redact", "/*/*"],
  ["remove", "/a*b/0"],
  ["mask", "/params"],
  ["mask", "/content/secret"],
  ["mask", "/4711000/secret"],
])("%s of %s may match something", (op, path) => {
  expect(checked(op, path)).toMatchObject({ diagnostics: [], warnings: [] });
});

test("an unusual path is accepted if a test of the policy has it", () => {
  expect(checked("mask", "/params/ssn", "", "{params: {ssn: x}}").diagnostics).toEqual([]);
  expect(checked("mask", "/params/ssn", "", "{params: {sn: x}}").diagnostics).toHaveLength(1);
});
