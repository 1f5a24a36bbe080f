import { expect, test } from "vitest";
import { longTransactions } from "./database.ts";

test.each([
  [3_599.9, null],
  [3_600, "1 hour"],
  [7_199, "1 hour"],
  [86_400, "24 hours"],
])("a transaction that has been open for %d s: %s", (open_s, told) => {
  const findings = longTransactions({ transactions: [{ who: "session 7 (psql, idle in transaction)", open_s }] });
  const text = `session 7 (psql, idle in transaction) has had a transaction open for ${told}: what was changed or deleted since is kept for it`;
  expect(findings).toMatchObject(told === null ? [] : [{ check: "transactions", state: "note", text }]);
});
