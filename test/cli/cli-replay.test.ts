import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { decide, refusal, type SeenRequest, startFakeService } from "../../packages/cli/src/testing/fake-service.ts";
import { beginCli, runCli } from "../../packages/cli/src/testing/run-cli.ts";

let directory: string;
let service: Awaited<ReturnType<typeof startFakeService>> | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "countersign-cli-"));
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const body = (verb: string) => ({ intent: { agent: { id: "a" }, action: { verb } } });
const verbOf = (call: number) => (call % 4 === 0 ? "send_money" : "read_file");

async function recording(calls: number, name = "calls.jsonl.gz"): Promise<string> {
  const lines = Array.from({ length: calls }, (_, call) => JSON.stringify({ call, body: body(verbOf(call)) }));
  const path = join(directory, name);
  await writeFile(path, name.endsWith(".gz") ? gzipSync(lines.join("\n")) : lines.join("\n"));
  return path;
}

const sentCalls = (seen: readonly SeenRequest[]) => seen.flatMap(({ body: { intents = [] } }) => intents);
const expectedVerdicts = (calls: number) =>
  Array.from(
    { length: calls },
    (_, call) => `{"call":${call},"verdict":"${call % 4 === 0 ? "escalate" : "approve"}"}\n`,
  ).join("");

test("splits calls over several requests if they are too large for one, and a call that is too large fails alone", async () => {
  const tooLarge = ({ body: { intents = [] } }: SeenRequest) =>
    intents.length > 3 || (intents.length > 1 && intents.some(({ intent }) => intent.action.verb === "send_money"));
  service = await startFakeService((request) => {
    const alone = request.body.intents?.every(({ intent }) => intent.action.verb === "send_money") ?? false;
    return tooLarge(request) || alone ? refusal(413, "payload_too_large") : decide(request);
  });
  const out = join(directory, "verdicts.jsonl");
  const { code, stdout } = await runCli(["replay", await recording(10), "--url", service.url, "--out", out]);
  expect(code).toBe(1);
  expect(stdout).toContain("payload_too_large × 3, e.g. call 0: ");
  const decided = (await readFile(out, "utf8"))
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line).call);
  expect(decided).toEqual([1, 2, 3, 5, 6, 7, 9]);
});

test("decides every call; the summary counts verdicts, and --out has them in the recording's order", async () => {
  let answered = 0;
  service = await startFakeService(async (request, number) => {
    if (number <= 2) await expect.poll(() => answered).toBeGreaterThanOrEqual(3);
    answered += 1;
    return decide(request);
  });
  const out = join(directory, "verdicts.jsonl");
  const file = await recording(230);
  const { code, stdout } = await runCli(["replay", file, "--url", service.url, "--api-key", "svc_x", "--out", out]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^230 calls of calls\.jsonl\.gz decided by http:\/\/127\.0\.0\.1:\d+ in \d+\.\d s/);
  expect(stdout).toMatch(/approve +172 +74\.8 %/);
  expect(stdout).toMatch(/escalate +58 +25\.2 %/);
  expect(stdout).toMatch(
    /5 requests of up to 50 calls: p50 \d+\.\d ms, p95 \d+\.\d ms, p99 \d+\.\d ms, max \d+\.\d ms/,
  );
  expect(await readFile(out, "utf8")).toBe(expectedVerdicts(230));
  expect(service.seen.every(({ headers }) => headers["x-api-key"] === "svc_x")).toBe(true);
});

// A proxy may send 0. Without a pause the command would retry in a tight loop.
test.each(["1", "0"])(
  "after a 429 with Retry-After %s waits, then repeats the batch with the same idempotency keys",
  async (given) => {
    service = await startFakeService((request, number) =>
      number === 1 ? refusal(429, "rate_limit_exceeded", { "retry-after": given }) : decide(request),
    );
    const file = await recording(10, "calls.jsonl");
    const { code, stdout, stderr } = await runCli(["replay", file, "--url", service.url, "--json"], {
      COUNTERSIGN_API_KEY: "svc_env",
    });
    expect(code).toBe(0);
    expect(stderr).toContain("waiting 1 s for the rate limit");
    expect(JSON.parse(stdout)).toMatchObject({ verdicts: { approve: 7, escalate: 3 }, failed: 0, requests: 1 });
    expect(JSON.parse(stdout).waited_ms).toBeGreaterThan(900);
    const [first, second] = service.seen.map(({ body: { intents = [] } }) =>
      intents.map(({ idempotency_key }) => idempotency_key),
    );
    expect(first).toHaveLength(10);
    expect(second).toEqual(first);
    expect(service.seen[0]?.headers["x-api-key"]).toBe("svc_env");
  },
);

test("retries refused items alone, with the same idempotency key", async () => {
  service = await startFakeService((request, number) => {
    const answer = decide(request);
    if (number > 1 || answer === null) return answer;
    const { results } = answer.body as { results: object[] };
    results[1] = { success: false, error: { code: "overloaded", message: "full", details: [], request_id: "req_1" } };
    return answer;
  });
  const { code } = await runCli(["replay", await recording(3), "--url", service.url]);
  expect(code).toBe(0);
  const [first, again] = service.seen.map(({ body: { intents = [] } }) => intents);
  expect(again).toEqual([first?.[1]]);
});

test("counts a refused call by its code, without a verdict, and exits with 1", async () => {
  service = await startFakeService((request) => {
    const answer = decide(request);
    const { results } = (answer?.body ?? {}) as { results: object[] };
    results[2] = {
      success: false,
      error: { code: "invalid_request", message: "no verb", details: [], request_id: "req_1" },
    };
    return answer;
  });
  const out = join(directory, "verdicts.jsonl");
  const { code, stdout } = await runCli(["replay", await recording(4), "--url", service.url, "--out", out]);
  expect(code).toBe(1);
  expect(stdout).toContain("1 calls FAILED:\n  invalid_request × 1, e.g. call 2: no verb");
  expect((await readFile(out, "utf8")).match(/"call":\d+/g)).toEqual(['"call":0', '"call":1', '"call":3']);
});

test("--resume sends only calls without a verdict, and repairs a truncated line", async () => {
  service = await startFakeService(decide);
  const out = join(directory, "verdicts.jsonl");
  await writeFile(out, `${expectedVerdicts(60)}{"call":60,"verd`);
  const { code, stdout } = await runCli([
    "replay",
    await recording(100),
    "--url",
    service.url,
    "--out",
    out,
    "--resume",
  ]);
  expect(code).toBe(0);
  expect(stdout).toContain("60 calls skipped");
  expect(sentCalls(service.seen)).toHaveLength(40);
  expect(await readFile(out, "utf8")).toBe(expectedVerdicts(100));
});

test("an interrupted replay keeps its results and says how to continue", async () => {
  service = await startFakeService((request, number) => (number <= 2 ? decide(request) : new Promise(() => {})));
  const out = join(directory, "verdicts.jsonl");
  const cli = beginCli(["replay", await recording(200), "--url", service.url, "--out", out, "--concurrency", "1"]);
  await expect.poll(() => service?.seen.length).toBe(3);
  cli.interrupt("SIGINT");
  const { code, stdout, stderr } = await cli.finished;
  expect(code).toBe(130);
  expect(stdout).toContain("100 calls of calls.jsonl.gz decided");
  expect(stderr).toContain("run it again with --resume");
  expect(await readFile(out, "utf8")).toBe(expectedVerdicts(100));
});

test("--batch 1 submits singly with an Idempotency-Key header, --mode shadow is passed on", async () => {
  service = await startFakeService(() => ({
    status: 201,
    body: { intent_id: "int_1", decision: { verdict: "block" } },
  }));
  const { code, stdout } = await runCli([
    "replay",
    await recording(3),
    "--url",
    service.url,
    "--batch",
    "1",
    "--mode",
    "shadow",
  ]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/block +3 +100\.0 %/);
  expect(service.seen.map(({ path }) => path)).toEqual(Array(3).fill("/v1/intents?mode=shadow"));
  expect(new Set(service.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(3);
});

test("a wrong key ends the replay at once with advice", async () => {
  service = await startFakeService(() => refusal(401, "invalid_api_key"));
  const { code, stderr } = await runCli(["replay", await recording(500), "--url", service.url]);
  expect(code).toBe(1);
  expect(stderr).toContain(
    "countersign: invalid_api_key: it is invalid_api_key (give a key with --api-key or COUNTERSIGN_API_KEY)",
  );
  expect(service.seen.length).toBeLessThanOrEqual(4);
});

test("a service that does not answer ends the replay at once and says how to start it", async () => {
  service = await startFakeService(() => null);
  const { code, stderr } = await runCli(["replay", await recording(3), "--url", service.url]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^countersign: no answer from .*\nIs the service running there\?/);
});

test.each([
  ["a line that is no JSON", "{}{", /calls\.jsonl, line 2 is not JSON/],
  [
    "a number that would be rounded",
    '{"call":1,"body":{"intent":{"action":{"verb":"pay"},"payload":{"content":{"account":1234567890123456789012}}}}}',
    /calls\.jsonl, line 2 is refused: \/intent\/payload\/content\/account: Send this number as a text/,
  ],
  ["a line that is no call", '{"call":1}', /calls\.jsonl, line 2 is neither/],
  ["a call that occurs twice", JSON.stringify({ call: 0, body: body("x") }), /call 0 occurs twice/],
])("reports %s before anything is sent", async (_, line, message) => {
  service = await startFakeService(decide);
  const path = join(directory, "calls.jsonl");
  await writeFile(path, `${JSON.stringify({ call: 0, body: body("x") })}\n${line}\n`);
  const { code, stderr } = await runCli(["replay", path, "--url", service.url]);
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(service.seen).toEqual([]);
});

test.each([[[]], [["--resume"]]])("--out never overwrites the recording: %j", async (options) => {
  service = await startFakeService(decide);
  const file = await recording(1, "calls.jsonl");
  const before = await readFile(file, "utf8");
  await symlink(file, join(directory, "link"));
  for (const out of [file, join(directory, "link")]) {
    const { code, stdout, stderr } = await runCli(["replay", file, "--url", service.url, "--out", out, ...options]);
    expect([code, stdout, stderr]).toEqual([
      1,
      "",
      `countersign: ${out} is the recording itself: give another --out for the verdicts\n`,
    ]);
  }
  expect(await readFile(file, "utf8")).toBe(before);
  expect(service.seen).toEqual([]);
});

test.skipIf(!existsSync("/dev/full"))("a failed write to --out ends the replay with one line", async () => {
  service = await startFakeService(decide);
  const args = ["replay", await recording(100), "--url", service.url, "--out", "/dev/full", "--concurrency", "1"];
  const { code, stdout, stderr } = await runCli([...args, "--batch", "2"]);
  expect([code, stdout, stderr]).toEqual([
    1,
    "",
    "countersign: /dev/full cannot be written (ENOSPC: no space left on device, write): calls without a verdict there are sent again with --resume\n",
  ]);
});

test.each([[[]], [["--resume"]]])("reports an unwritable --out in words: %j", async (options) => {
  const file = await recording(1);
  const refused = async (out: string) => {
    const { code, stdout, stderr } = await runCli(["replay", file, "--out", out, ...options]);
    expect([code, stdout]).toEqual([1, ""]);
    return stderr;
  };
  expect(await refused(directory)).toBe(`countersign: ${directory} is a folder: give the name of a file\n`);
  expect(await refused(join(directory, "no/verdicts"))).toBe(
    `countersign: ${directory}/no/verdicts cannot be written: the folder ${directory}/no does not exist; create it first\n`,
  );
});

test("a recording without a call is refused", async () => {
  const file = join(directory, "empty.jsonl");
  await writeFile(file, "\n");
  const { code, stdout, stderr } = await runCli(["replay", file]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toBe(
    `countersign: ${file} contains no calls: give a recording, a line of JSON for each call (replay --help shows one)\n`,
  );
});

test.each([
  ["a file that does not exist", "none.jsonl", [], /none\.jsonl cannot be read: there is no such file/],
  ["a batch of 51", "calls.jsonl.gz", ["--batch", "51"], /argument '51' is invalid\. give a whole number from 1 to 50/],
  ["a batch that is no plain number", "calls.jsonl.gz", ["--batch", "0x10"], /argument '0x10' is invalid/],
  [
    "an address with a query",
    "calls.jsonl.gz",
    ["--url", "http://x/?y"],
    /'http:\/\/x\/\?y' is invalid\. give an address/,
  ],
  [
    "an address with a password",
    "calls.jsonl.gz",
    ["--url", "http://u:p@x"],
    /is invalid\. give an address .+ without user/,
  ],
  ["another mode", "calls.jsonl.gz", ["--mode", "live"], /--mode takes `shadow` only/],
  ["--resume without --out", "calls.jsonl.gz", ["--resume"], /--resume needs --out/],
])("%s is refused in one line with exit code 1", async (_, file, options, message) => {
  await recording(1);
  const { code, stderr } = await runCli(["replay", join(directory, file), ...options]);
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain("    at ");
});

test("a bare submission body is also a call, numbered by its line", async () => {
  service = await startFakeService(decide);
  const path = join(directory, "bodies.jsonl");
  const out = join(directory, "verdicts.jsonl");
  await writeFile(path, `${JSON.stringify(body("send_money"))}\n\n${JSON.stringify(body("read"))}\n`);
  const { code } = await runCli(["replay", path, "--url", service.url, "--out", out]);
  expect(code).toBe(0);
  expect(await readFile(out, "utf8")).toBe('{"call":0,"verdict":"escalate"}\n{"call":2,"verdict":"approve"}\n');
});
