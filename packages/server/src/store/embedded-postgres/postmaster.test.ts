import { expect, test } from "vitest";
import { isWarning } from "./postmaster.ts";

test.each([
  ["FATAL:  terminating connection due to administrator command", false],
  ["FATAL:  terminating autovacuum process due to administrator command", false],
  ['FATAL:  terminating background worker "logical replication launcher" due to administrator command', false],
  ["FATAL:  the database system is shutting down", false],
  ["FATAL:  the database system is starting up", false],
  ["FATAL:  canceling authentication due to timeout", false],
  ["FATAL:  terminating connection because protocol synchronization was lost", true],
  ["FATAL:  could not write to file: No space left on device", true],
  ["PANIC:  could not locate a valid checkpoint record", true],
  ["ERROR:  out of memory", true],
  ["LOG:  database system is ready to accept connections", false],
])("warnings and errors of the embedded server are logged, but not its starts and stops: %s", (line, shown) => {
  expect(isWarning(line)).toBe(shown);
});
