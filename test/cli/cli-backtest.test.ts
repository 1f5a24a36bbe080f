import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reportOf } from "../../packages/cli/src/backtest/report.ts";
import { refusal, startFakeService } from "../../packages/cli/src/testing/fake-service.ts";
import { beginCli, runCli } from "../../packages/cli/src/testing/run-cli.ts";
import type { BacktestInput } from "../../packages/contract/src/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const folder = mkdtempSync(join(tmpdir(), "cli-backtest-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

function file(name: string, limit: string): string {
  const path = join(folder, name);
  writeFileSync(
    path,
    `apiVersion: countersign/v1
kind: Policy
metadata: {name: limit}
spec:
  match: {actions: [payment.transfer]}
  when: params.amount_usd > ${limit}
  effect: block
`,
  );
  return path;
}

const database = await testDatabase();
const { url } = await serviceNode(database);
let people: Reviewed;
beforeAll(async () => {
  people = await reviewedOrganization(database.db, url, { packs: [] });
  for (const amount_usd of [10, 60, 150]) {
    const intent = {
      agent: { id: "agent-1" },
      action: { type: "payment.transfer", verb: "pay" },
      payload: { content: { amount_usd } },
    };
    const { status } = await call(url, "POST", "/v1/intents", { key: people.agent, body: { intent } });
    expect(status).toBe(201);
  }
});

const backtest = (...args: string[]) =>
  runCli(["policies", "backtest", ...args, "--url", url], { COUNTERSIGN_API_KEY: people.admin });

describe("countersign policies backtest", () => {
  test("prints what would change and where it is kept, exits with 1 when a condition is met, and says which", async () => {
    const conditions = ["--fail-on", "approve->block>0", "--fail-on", "flips>2"];
    const { code, stdout, stderr } = await backtest(file("strict.yaml", "50.0"), "--keep", ...conditions);
    // Only a slow backtest prints progress there.
    expect(stderr).not.toMatch(/countersign:/);
    expect(stdout).toMatch(/^3 intents in /);
    expect(stdout).toContain("2 verdicts change");
    expect(stdout).toMatch(/approve +block +2/);
    expect(stdout).toMatch(/^int_\w+ +agent-1 +pay +approve +block +limit$/m);
    expect(stdout).toMatch(/^limit +approve +block +2 +\d+\.\d\d$/m);
    const judged = /\nFAILED: approve->block>0 \(2\)\n\nok: flips>2 \(2\)\n\nkept at \/backtests\/(bkt_\w{26})\n$/.exec(
      stdout,
    );
    const kept = await call(url, "GET", `/v1/backtests/${judged?.[1]}`, { key: people.admin });
    expect(kept.json.backtest.result.flips_total).toBe(2);
    expect(code).toBe(1);
  });

  test("without a file reproduces the record, and exits with 0 if no condition is met", async () => {
    const { code, stdout } = await backtest("--fail-on", "reproduced<1", "--json");
    const result = JSON.parse(stdout);
    expect(result.fail_on).toEqual([{ condition: "reproduced<1", value: 1, met: false }]);
    expect(reportOf(result.backtest)).toContain("100 % of the recorded verdicts were reproduced");
    expect(code).toBe(0);
  });

  test("sends every part of a candidate: documents, packs, thresholds and names to leave out", async () => {
    const service = await startFakeService(() => ({ status: 200, body: { backtest: { evaluated: 7 } } }));
    const sent = async (...args: string[]) => {
      const { code, stderr } = await runCli(["policies", "backtest", ...args, "--json", "--url", service.url]);
      expect(code, stderr).toBe(0);
      return service.seen.at(-1)?.body as BacktestInput;
    };
    const candidateOf = async (...args: string[]) => (await sent(...args)).candidate;
    const strict = file("strict.yaml", "50.0");
    expect(await candidateOf()).toBeUndefined();
    expect(await candidateOf(strict)).toEqual({ policies: [expect.objectContaining({ metadata: { name: "limit" } })] });
    expect(await candidateOf("--escalate-at", "0.4", "--block-at", "none")).toEqual({
      thresholds: { escalate_at: 0.4, block_at: null },
    });
    // A threshold that is not given keeps the membrane's value.
    expect(await candidateOf("--escalate-at", "0.4")).toEqual({ thresholds: { escalate_at: 0.4 } });
    expect(await candidateOf("--block-at", "0.5")).toEqual({ thresholds: { block_at: 0.5 } });
    expect(await candidateOf("--escalate-at", "0", "--block-at", "1", "--without", "a", "--without", "b")).toEqual({
      thresholds: { escalate_at: 0, block_at: 1 },
      without: ["a", "b"],
    });
    expect(await candidateOf("--no-packs")).toEqual({ packs: [] });
    expect(await candidateOf("--pack", "gdpr", "--pack", "hipaa")).toEqual({ packs: ["gdpr", "hipaa"] });
    const window = ["--from", "2026-10-01", "--to", "2026-10-02T10:00:00Z"];
    expect(await sent("--membrane", "mem_1", "--agent", "agent-1", "--limit", "3", ...window)).toEqual({
      ...{ membrane_id: "mem_1", agent_id: "agent-1", limit: 3 },
      window: { from: "2026-10-01T00:00:00Z", to: "2026-10-02T10:00:00Z" },
    });
    await service.stop();
    const help = (await runCli(["policies", "backtest", "--help"])).stdout;
    for (const option of ["--pack", "--no-packs", "--escalate-at", "--block-at", "--without", "--membrane", "--agent"])
      expect(help).toContain(option);
  });

  test("accepts every RFC 3339 time, such as a leap second or lower case", async () => {
    const times = ["--from", "2016-12-31T23:59:60Z", "--to", "2017-01-01t00:59:59.5z"];
    const { stderr } = await runCli(["policies", "backtest", ...times, "--url", "http://127.0.0.1:1"], {});
    expect(stderr).toMatch(/no answer from/);
  });

  test("shows a document's texts without characters that reorder or control the line", async () => {
    const { stderr } = await backtest(file("reordered.yaml", '1\n  "\\u202eowt": 1'));
    expect(stderr).toContain("\\u{202e}owt");
    expect(stderr).not.toContain("\u202e");
  });

  test.each<[string, () => string[], RegExp]>([
    ["a wrong condition", () => ["--fail-on", "approve->blok>0"], /is not a condition/],
    ["a wrong option", () => ["--fail", "x"], /unknown option/],
    ["a wrong time", () => ["--from", "yesterday"], /--from takes a time/],
    ["a day that the calendar does not have", () => ["--from", "2026-02-30"], /--from takes a time/],
    ["a time without its zone", () => ["--to", "2026-10-01T00:00:00"], /--to takes a time/],
    ["a document with errors, at its line and column", () => [file("broken.yaml", "")], /broken\.yaml:6:\d+: /],
    ["a file that is not there", () => [join(folder, "none.yaml")], /cannot be read/],
    ["an unknown pack", () => ["--pack", "none"], /There is no pack none/],
    [
      "a name to leave out that nothing has",
      () => ["--without", "gdpr.lawful-bases"],
      /Did you mean gdpr\.lawful-basis\?/,
    ],
    ["a threshold out of range", () => ["--escalate-at", "1.5", "--block-at", "none"], /--escalate-at takes a number/],
    ["a threshold that is no number", () => ["--escalate-at", "0.5", "--block-at", "0x1"], /--block-at takes a number/],
    ["an empty threshold", () => ["--escalate-at=", "--block-at=1"], /--escalate-at takes a number/],
    ["packs and none", () => ["--pack", "gdpr", "--no-packs"], /either --pack or --no-packs/],
    ["a service that is not there", () => ["--url", "http://127.0.0.1:1"], /no answer from/],
  ])("exits with 2 for %s", async (_name, args, said) => {
    const [first = "", ...rest] = args();
    // The last --url wins.
    const { code, stderr, stdout } =
      first === "--url"
        ? await runCli(["policies", "backtest", first, ...rest])
        : await runCli(["policies", "backtest", "--url", url, first, ...rest], { COUNTERSIGN_API_KEY: people.admin });
    expect(stderr).toMatch(said);
    expect(stdout).toBe("");
    expect(code).toBe(2);
  });
});

describe("while the rate budget is used up", () => {
  const limited = (seconds: string) => refusal(429, "rate_limit_exceeded", { "retry-after": seconds });
  const asking = (service: { readonly url: string }) =>
    beginCli(["policies", "backtest", "--url", service.url, "--json"]);

  test("says how long it waits, then continues", async () => {
    const service = await startFakeService((_, number) =>
      number === 1 ? limited("2") : { status: 200, body: { backtest: { evaluated: 7 } } },
    );
    const { code, stdout, stderr } = await asking(service).finished;
    await service.stop();
    expect(stderr).toBe("waiting 2 s for the rate limit\n");
    expect(JSON.parse(stdout).backtest).toEqual({ evaluated: 7 });
    expect(code).toBe(0);
  });

  test("ends at once when interrupted", async () => {
    const service = await startFakeService(() => limited("50"));
    const cli = asking(service);
    await cli.printed(/waiting 50 s/);
    cli.interrupt("SIGINT");
    const { code, stderr } = await cli.finished;
    await service.stop();
    expect([code, stderr]).toEqual([130, "waiting 50 s for the rate limit\ncountersign: interrupted\n"]);
  });
});
