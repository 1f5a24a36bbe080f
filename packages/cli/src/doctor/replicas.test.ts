import { expect, test } from "vitest";
import { replicas } from "./replicas.ts";

const sound = { standby: true, same_system: true, behind_bytes: 0, newest_s: 3_600, feedback: true };

test.each([
  [sound, "ok", "db:5432/x: a standby, 0 bytes behind"],
  [{ ...sound, behind_bytes: 1_234, newest_s: 5 }, "ok", "db:5432/x: a standby, 1,234 bytes behind"],
  [
    { ...sound, behind_bytes: 1_234, newest_s: 6 },
    "note",
    "db:5432/x: a standby, 1,234 bytes behind, and its newest commit is 6 s old",
  ],
  [{ ...sound, feedback: false }, "note", "db:5432/x: a standby, 0 bytes behind"],
  [{ ...sound, standby: false }, "ok", "db:5432/x: it is a primary, and is not read as a replica"],
  [
    { ...sound, same_system: false },
    "problem",
    "db:5432/x: its system identifier differs from the primary's, so it is not a copy of it and serves nothing",
  ],
])("a replica that answers %j", (state, told, text) => {
  expect(replicas([{ name: "db:5432/x", state }])).toMatchObject([{ check: "replica", state: told, text }]);
});

test("reports a replica that does not answer as a problem, with advice", () => {
  expect(replicas([{ name: "db:5432/x", unreachable: "connect ECONNREFUSED" }])).toMatchObject([
    {
      state: "problem",
      text: "db:5432/x: connect ECONNREFUSED",
      advice: expect.stringContaining("DATABASE_REPLICA_URLS"),
    },
  ]);
});
