/**
 * Prints `passed failed skipped` of a vitest run: node scripts/count-tests.mjs <JSON report> <exit code>. An unloadable
 * file, or a failed run without failed tests, counts as one failure. Names failures on standard error.
 */
import { readFileSync } from "node:fs";

const [path, status] = process.argv.slice(2);
const report = JSON.parse(readFileSync(path, "utf8"));
const isUnloaded = ({ status, assertionResults }) =>
  status === "failed" && !assertionResults.some((test) => test.status === "failed");
const lines = (text) => (text ?? "").split("\n").slice(0, 8).join("\n  ");
for (const { name, status, message, assertionResults } of report.testResults) {
  if (isUnloaded({ status, assertionResults })) console.error(`failed: ${name}\n  ${lines(message)}`);
  for (const test of assertionResults.filter((test) => test.status === "failed"))
    console.error(`failed: ${name} > ${test.fullName}\n  ${lines(test.failureMessages[0])}`);
}
const failed = report.numFailedTests + report.testResults.filter(isUnloaded).length;
const stray = failed === 0 && status !== "0" ? 1 : 0;
if (stray > 0) console.error(`failed: the run of ${path} ended with code ${status} and no failed test`);
console.log(report.numPassedTests, failed + stray, report.numPendingTests + report.numTodoTests);
