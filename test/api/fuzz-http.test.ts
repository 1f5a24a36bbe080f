/** Hostile input to the whole HTTP surface. */
import { type Operation, operationRows } from "@countersign/contract";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { rawRequest } from "../../packages/server/src/testing/network/raw-http.ts";
import { testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { sideBySide } from "../../packages/server/src/testing/side-by-side.ts";
import { runs } from "../../scripts/property-runs.ts";

interface Line {
  readonly request_id: string;
  readonly status: number;
}
const lines: Line[] = [];
const note = (line: object, message: string) => message === "request" && lines.push(line as Line);
const log = { debug: () => undefined, warn: () => undefined, info: note, error: note };
const database = await testDatabase();
const node = await serviceNode(database, { log });
const port = Number(new URL(node.url).port);
let api_key = "";
beforeAll(async () => {
  api_key = (await (await testOrganization(database.db)).key()).api_key;
});
afterEach(async () => {
  expect((await fetch(`${node.url}/healthz`)).status).toBe(200);
  expect(lines.filter((line) => line.status >= 500)).toEqual([]);
});

const head = (method: string, path: string, headers: Record<string, string> = {}): string =>
  `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${api_key}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
const json = (body: string | Buffer, length = Buffer.byteLength(body)) =>
  Buffer.concat([
    Buffer.from(head("POST", "/v1/intents", { "Content-Type": "application/json", "Content-Length": String(length) })),
    Buffer.from(body),
  ]);
const intent = '{"intent":{"agent":{"id":"a"},"action":{"verb":"v"},"payload":{"content":{"x":VALUE}}}}';
const withValue = (value: string) => intent.replace("VALUE", value);

function hostileRequests(operation: Operation) {
  const segment = fc.oneof(
    fc.constantFrom("..", "%00", "%ff", "%ED%A0%80", "%", "%zz", "int_01K00000000000000000000000", "a%2Fb", "-1", "*"),
    fc.string().map(encodeURIComponent),
  );
  const path = fc.tuple(segment, segment).map((parts) => {
    let at = 0;
    return operation.path.replaceAll(/\{\w+\}/g, () => parts[at++ % 2] as string);
  });
  const query = fc.option(
    fc.constantFrom("limit=1e9", "limit=-1", "cursor=%00", "wait=0.5", "mode=live", "mode=shadow&mode=shadow", "x"),
  );
  const known = fc.constantFrom(
    "intent",
    "intents",
    "name",
    "status",
    "facts",
    "contract_version",
    "org_name",
    "__proto__",
  );
  const body = fc.option(
    fc.oneof(
      fc.json(),
      fc.dictionary(known, fc.jsonValue()).map((value) => JSON.stringify(value)),
      fc.string(),
      fc.constantFrom(
        withValue("1e400"),
        withValue('"\\u0000"'),
        withValue('"\\ud800"'),
        "[".repeat(40) + "]".repeat(40),
      ),
    ),
  );

  return fc.tuple(path, query, body, fc.boolean());
}

test("every operation answers any input below 500 and logs it once", async () => {
  await sideBySide(operationRows, async ([id, operation]: readonly [string, Operation]) => {
    await fc.assert(
      fc.asyncProperty(hostileRequests(operation), async ([at, asked, sent, keyed]) => {
        const url = asked === null ? at : `${at}?${asked}`;
        const type = { "Content-Type": "application/json", "Content-Length": String(Buffer.byteLength(sent ?? "")) };
        const bytes = head(operation.method, url, sent === null ? {} : type);
        const whole = Buffer.from((keyed ? bytes : bytes.replace(/X-API-Key.*\r\n/, "")) + (sent ?? ""));
        const { statuses, text } = await rawRequest(port, whole, { quiet_ms: 5 });
        expect(statuses[0], `${id}: ${text}`).toBeLessThan(500);
        const request_id = /^x-request-id: (\S+)/im.exec(text)?.[1];
        expect(lines.filter((line) => line.request_id === request_id)).toHaveLength(1);
      }),
      { numRuns: runs(25) },
    );
  });
});

/** Name, bytes, whether the client closes its side afterwards, allowed statuses. */
type Hostile = readonly [string, () => string | Buffer, boolean, readonly (number | undefined)[]];

describe("bytes on a socket", () => {
  const hostile: readonly Hostile[] = [
    ["a body cut short, then the end", () => json('{"intent":', 500), true, [400, undefined]],
    ["a length that is too small", () => json(withValue("1"), 10), false, [400]],
    ["deep nesting", () => json(withValue("[".repeat(5_000) + "]".repeat(5_000))), false, [400]],
    ["deep nesting without an end", () => json("[".repeat(500_000)), false, [400]],
    ["a huge number", () => json(withValue("1e400")), false, [400]],
    ["a number of 100,000 digits", () => json(withValue("9".repeat(100_000))), false, [400]],
    ["a lone surrogate", () => json(withValue('"\\ud800"')), false, [400]],
    ["a lone surrogate in a key", () => json(withValue('{"\\udfff":1}')), false, [400]],
    ["NUL in a string", () => json(withValue('"\\u0000"')), false, [400]],
    ["a raw NUL", () => json(withValue('"\0"')), false, [400]],
    ["bytes that are not UTF-8", () => json(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])), false, [400]],
    ["a byte order mark", () => json(`\ufeff${withValue("1")}`), false, [400]],
    ["__proto__ spelt with escapes", () => json(withValue('{"__proto_\\u005f":1}')), false, [400]],
    ["1 MiB and a byte", () => json(withValue(`"${"a".repeat(1_048_577 - withValue('""').length)}"`)), false, [413]],
    ["exactly 1 MiB", () => json(withValue(`"${"a".repeat(1_048_576 - withValue('""').length)}"`)), false, [201]],
    ["1 GiB announced", () => json("{", 1_073_741_824), false, [413]],
    [
      "101 headers",
      () => head("GET", "/v1/intents", Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`X-${i}`, "1"]))),
      false,
      [400, 431], // Node 24's own parser refuses more headers than its limit.
    ],
    [
      "2,001 headers",
      () => head("GET", "/healthz", Object.fromEntries(Array.from({ length: 2001 }, (_, i) => [`${i}`, ""]))),
      false,
      [400, 431],
    ],
    ["two keys", () => head("GET", "/v1/intents", { "x-api-key": "other" }), false, [400]],
    ["two hosts", () => head("GET", "/v1/intents", { host: "other" }), false, [400]],
    ["a host with a user", () => "GET /healthz HTTP/1.1\r\nHost: user@127.0.0.1\r\n\r\n", false, [400]],
    ["a host with a space", () => "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", false, [400]],
    ["a host with a path", () => "GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n", false, [400]],
    ["a host with a port in words", () => "GET /healthz HTTP/1.1\r\nHost: a:https\r\n\r\n", false, [400]],
    ["an address as host", () => "GET /healthz HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", false, [200]],
    ["no host", () => "GET /healthz HTTP/1.1\r\n\r\n", false, [400]],
    ["an absolute target", () => head("GET", "http://127.0.0.1/healthz"), false, [400]],
    [
      "gzip and chunked",
      () => `${head("POST", "/v1/intents", { "Transfer-Encoding": "gzip, chunked" })}0\r\n\r\n`,
      false,
      [400],
    ],
    [
      "a compressed body",
      () =>
        head("POST", "/v1/intents", {
          "Content-Type": "application/json",
          "Content-Encoding": "gzip",
          "Content-Length": "0",
        }),
      false,
      [415],
    ],
    ["HTTP/0.9", () => "GET /healthz\r\n\r\n", false, [400]],
    ["TRACE", () => head("TRACE", "/v1/intents"), false, [405]],
    ["an unknown method", () => head("BREW", "/v1/intents"), false, [400, 405]],
    ["a strange expectation", () => head("GET", "/healthz", { Expect: "coffee" }), false, [400]],
    [
      "a chunk of no size",
      () =>
        `${head("POST", "/v1/intents", { "Content-Type": "application/json", "Transfer-Encoding": "chunked" })}zz\r\n`,
      false,
      [400],
    ],
    ["TLS", () => Buffer.from("16030100a5010000a1030300", "hex"), false, [400]],
  ];
  test("each gets the right status, and errors are JSON", async () => {
    await sideBySide(hostile, async ([name, bytes, end, expected]) => {
      const { statuses, text } = await rawRequest(port, bytes(), { end });
      expect(expected, `${name}: ${text.slice(0, 500)}`).toContain(statuses[0]);
      if (statuses[0] !== undefined && statuses[0] >= 400) expect(text, name).toContain('{"error":{"code":"');
    });
  });

  test("refuses a chunked body over the limit before it ends", async () => {
    const start = head("POST", "/v1/intents", { "Content-Type": "application/json", "Transfer-Encoding": "chunked" });
    const chunk = `100000\r\n${"a".repeat(1_048_576)}\r\n`;
    const { statuses } = await rawRequest(port, start + chunk + chunk);
    expect(statuses[0]).toBe(413);
  });

  test("sends 100 Continue only after the gate, then the answer", async () => {
    // The connection ends with the answer, so the test does not depend on the quiet time.
    const more = { "Content-Type": "application/json", Expect: "100-continue", Connection: "close" };
    const body = withValue("1");
    const allowed = head("POST", "/v1/intents", { ...more, "Content-Length": String(body.length) });
    expect((await rawRequest(port, allowed + body, { quiet_ms: 10_000 })).statuses).toEqual([100, 201]);
    const refused = allowed.replace(/X-API-Key.*\r\n/, "");
    expect((await rawRequest(port, refused)).statuses).toEqual([401]);
  });

  test("answers pipelined requests in order, and garbage after them last", async () => {
    const get = head("GET", "/v1/intents?limit=1");
    expect((await rawRequest(port, `${get}${get}garbage\r\n\r\n`, { quiet_ms: 10_000 })).statuses).toEqual([
      200, 200, 400,
    ]);
  });

  test.each([
    ["an empty Transfer-Encoding", () => head("POST", "/v1/intents", { "Transfer-Encoding": "" })],
    ["gzip and chunked", () => `${head("POST", "/v1/intents", { "Transfer-Encoding": "gzip, chunked" })}0\r\n\r\n`],
    ["two hosts", () => head("GET", "/v1/nothing", { host: "other" })],
  ])("ignores bytes after an ambiguous head (%s), and closes the connection", async (_doubt, doubtful) => {
    const bytes = Buffer.concat([Buffer.from(doubtful()), json(withValue('"smuggled"'))]);
    lines.length = 0;
    const { statuses, text } = await rawRequest(port, bytes, { quiet_ms: 10_000 });
    expect(statuses).toEqual([400]);
    expect(text).toMatch(/^connection: close\r$/im);
    // A second decided request would already have logged its line.
    await fetch(`${node.url}/healthz`);
    expect(lines.map(({ status }) => status)).toEqual([400, 200]);
  });

  test("cuts off an unfinished head with 408, while others are served", async () => {
    const { server } = node.app;
    const { headersTimeout, requestTimeout } = server;
    expect([headersTimeout, requestTimeout]).toEqual([10_000, 30_000]);
    // Shortens the limit of 10 s, which the server reads at each check of its connections.
    server.headersTimeout = 100;
    onTestFinished(() => {
      server.headersTimeout = headersTimeout;
    });
    const slow = rawRequest(port, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    expect((await fetch(`${node.url}/healthz`)).status).toBe(200);
    const { statuses, text } = await slow;
    expect(statuses, text).toEqual([408]);
  });

  test("100 clients that disconnect during their request leave nothing behind", async () => {
    await Promise.all(Array.from({ length: 100 }, () => rawRequest(port, json('{"intent":', 500), { end: true })));
    await expect
      .poll(() => new Promise((resolve) => node.app.server.getConnections((_, count) => resolve(count))))
      .toBeLessThan(10);
  });
});
