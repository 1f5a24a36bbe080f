/**
 * Prints `passed failed skipped` for a run of vitest: node scripts/count-tests.mjs <JSON report> <exit code of the
 * run>. A file that cannot be loaded counts as one failure. A failed run without a failed test counts as one failure,
 * too.
 */
import { readFileSync } from "node:fs";

const [path, status] = process.argv.slice(2);
const report = JSON.parse(readFileSync(path, "utf8"));
const isUnloaded = ({ status, assertionResults }) =>
  status === "failed" && !assertionResults.some((test) => test.status === "failed");
const failed = report.numFailedTests + report.testResults.filter(isUnloaded).length;
const stray = failed === 0 && status !== "0" ? 1 : 0;
console.log(report.numPassedTests, failed + stray, report.numPendingTests + report.numTodoTests);
