import { expect, test } from "vitest";
import { checkPolicy } from "./check.ts";

const checked = (path: string) =>
  checkPolicy(`apiVersion: countersign/v1
kind: Policy
metadata: {name: p}
spec:
  when: "true"
  effect: approve_modified
  modify:
    - {op: redact, path: /note}
    - {op: redact, path: "${path}"}`);

test.each(["/items/*/ssn", "/items/**", "/items/[*]/ssn", "/*"])(
  "a star in a path is accepted and warned of: %s",
  (path) => {
    const { document, warnings } = checked(path);
    expect(document).not.toBeNull();
    expect(warnings).toMatchObject([{ path: "/spec/modify/1/path", line: 9, code: "bad_format" }]);
  },
);

test("a star within a name is one of its characters", () => {
  expect(checked("/items/0/a*b")).toMatchObject({ diagnostics: [], warnings: [] });
});
