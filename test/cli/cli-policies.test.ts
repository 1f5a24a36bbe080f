import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "countersign-policies-"));
  const files = {
    "good.yaml": policy("params.amount > 5", "block"),
    "red.yaml": policy("params.amount > 5", "escalate"),
    "wrong.yaml": policy("parms.amount > 5", "block"),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
});
afterAll(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

function policy(when: string, expected: string): string {
  return `apiVersion: countersign/v1
kind: Policy
metadata: {name: p}
spec:
  when: ${when}
  effect: block
tests:
  - name: above
    intent: {agent: {id: a}, action: {verb: pay_vendor}, payload: {content: {amount: 6}}}
    expect: {verdict: ${expected}}
`;
}
const cli = (...args: string[]) => runCli(args, {}, directory);

describe("policies", () => {
  test("check prints every error with line and column and exits with 1, otherwise with 0", async () => {
    const { code, stdout } = await cli("policies", "check", "good.yaml", "wrong.yaml");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^wrong\.yaml:5:9: error undeclared_name: .*params/m);
    expect(stdout).not.toMatch(/good\.yaml:.*error/);
    expect(stdout).toMatch(/2 documents, 1 with errors\n$/);
    expect((await cli("policies", "check", "good.yaml", "red.yaml")).code).toBe(0);
  });

  test("test runs the cases and prints the differences", async () => {
    const { code, stdout } = await cli("policies", "test", "good.yaml", "red.yaml");
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^red\.yaml:10:23: error test_failed: The test "above" fails: verdict is "block", not "escalate"\. Correct/m,
    );
    expect(stdout).toMatch(/2 documents, 0 with errors; 2 tests, 1 red\n$/);
    expect((await cli("policies", "test", "good.yaml")).code).toBe(0);
  });

  test("refuses a file that is not UTF-8, because its names would be read wrongly", async () => {
    const text = policy('params.country == "Österreich"', "block");
    await writeFile(join(directory, "latin1.yaml"), text, "latin1");
    await writeFile(join(directory, "utf16.yaml"), `\ufeff${text}`, "utf16le");
    await writeFile(join(directory, "marked.yaml"), `\ufeff${text}`);
    for (const name of ["latin1.yaml", "utf16.yaml"])
      expect(await cli("policies", "check", name)).toMatchObject({
        code: 1,
        stderr: `countersign: ${name} is not UTF-8: save it as UTF-8\n`,
      });
    expect((await cli("policies", "check", "marked.yaml")).code).toBe(0);
  });

  test("--json prints the same for programs; a missing file is reported in one line with exit code 1", async () => {
    const { code, stdout } = await cli("policies", "test", "red.yaml", "--json");
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      [
        {
          valid: false,
          diagnostics: [{ path: "/tests/0/expect/verdict", line: 10, column: 23, code: "test_failed" }],
          tests: [{ name: "above", passed: false }],
        },
      ],
    ]);
    const missing = await cli("policies", "check", "missing.yaml");
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringMatching(/^countersign: missing\.yaml cannot be read/),
    ]);
  });
});

describe("packs", () => {
  test("list and show print packs and rules", async () => {
    expect((await cli("packs", "list")).stdout).toMatch(/^hipaa +\d+\.\d+\.\d+ +\d+ {2}\S/m);
    const { code, stdout } = await cli("packs", "show", "gdpr");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^gdpr\.\S+ +(block|escalate)\b.*GDPR/m)]);
    const missing = await cli("packs", "show", "nope");
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringMatching(/^countersign: there is no pack nope/)]);
  });
});
