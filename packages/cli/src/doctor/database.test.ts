import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "@countersign/server";
import { expect, onTestFinished, test } from "vitest";
import { checkDatabase, citus, longTransactions } from "./database.ts";

test.each([
  [3_599.9, null],
  [3_600, "1 hour"],
  [7_199, "1 hour"],
  [86_400, "24 hours"],
])("a transaction that has been open for %d s: %s", (open_s, told) => {
  const findings = longTransactions({ transactions: [{ who: "session 7 (psql, idle in transaction)", open_s }] });
  const text = `session 7 (psql, idle in transaction) has had a transaction open for ${told}: the server keeps everything changed or deleted since`;
  expect(findings).toMatchObject(told === null ? [] : [{ check: "transactions", state: "note", text }]);
});

test.skipIf(process.getuid?.() !== 0)(
  "reports a directory that another user owns as unreadable, not as a missing database",
  async () => {
    const data_dir = await mkdtemp(join(tmpdir(), "countersign-doctor-"));
    onTestFinished(() => rm(data_dir, { recursive: true, force: true }));
    process.seteuid?.(65_533);
    try {
      const findings = await checkDatabase(readConfig({ COUNTERSIGN_DATA_DIR: data_dir }), process.stderr);
      expect(findings).toMatchObject([{ check: "database", state: "note", text: "not checked" }]);
    } finally {
      process.seteuid?.(0);
    }
  },
);

test.each([
  [null, []],
  [{ version: "13.0-1", undistributed: [] }, [{ state: "ok", text: "version 13.0-1, all tables are distributed" }]],
  [
    { version: "13.0-1", undistributed: ["audit", "people"] },
    [
      {
        state: "problem",
        text: "version 13.0-1, and 2 tables lie on the coordinator only: audit, people",
        advice: "countersign distribute",
      },
    ],
  ],
])("Citus: %j", (state, findings) => {
  expect(citus({ citus: state })).toMatchObject(findings);
});
