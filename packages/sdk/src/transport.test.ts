import type { ServerResponse } from "node:http";
import { afterEach, expect, test, vi } from "vitest";
import { ApiError, ConnectionError, createClient } from "./index.ts";
import { json, serve } from "./testing/serve.ts";

afterEach(() => void vi.restoreAllMocks());

const refusal = (status: number, code: string, headers = {}) =>
  json(status, { error: { code, message: `it is ${code}`, details: [{ a: 1 }], request_id: "req_1" } }, headers);
const submission = { intent: { agent: { id: "a" }, action: { verb: "send_money" } } };

test("a submission carries the key, JSON, and an idempotency key that its retries share", async () => {
  const { client, received } = await serve(
    refusal(503, "unavailable", { "retry-after": "1" }),
    json(201, { intent_id: "int_1" }),
  );
  expect(await client.submitIntent(submission, { mode: "shadow" })).toEqual({ intent_id: "int_1" });
  expect(received).toHaveLength(2);
  expect(received[0]?.url).toBe("/v1/intents?mode=shadow");
  expect(received[0]?.headers).toMatchObject({ "x-api-key": "svc_test_org_x", "content-type": "application/json" });
  expect(JSON.parse(received[0]?.body ?? "")).toEqual(submission);
  expect(received[0]?.headers["idempotency-key"]).toMatch(/^retry-[0-9a-f]{32}$/);
  expect(received[1]?.headers["idempotency-key"]).toBe(received[0]?.headers["idempotency-key"]);
});

test("every item of a batch has an idempotency key; a given one is kept", async () => {
  const { client, received } = await serve(json(200, { results: [], total: 2, succeeded: 2, failed: 0 }));
  await client.submitIntentBatch([submission, { ...submission, idempotency_key: "mine" }]);
  const [first, second] = JSON.parse(received[0]?.body ?? "").intents;
  expect(first.idempotency_key).toMatch(/^retry-[0-9a-f]{32}$/);
  expect(second.idempotency_key).toBe("mine");
});

test("an error object becomes an ApiError with code, details, request_id and retry_after_seconds", async () => {
  const { client, waits } = await serve(refusal(429, "rate_limit_exceeded", { "retry-after": "61" }));
  const error = await client.getUsage().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 429, code: "rate_limit_exceeded", message: "it is rate_limit_exceeded" });
  expect(error).toMatchObject({ details: [{ a: 1 }], request_id: "req_1", retry_after_seconds: 61 });
  expect(waits).toEqual([]); // Longer than retry_wait_seconds_max.
});

test.each([200, 403])("an answer of %i from another program becomes http_<status>", async (status) => {
  const { client, received } = await serve((response) => void response.writeHead(status).end("<html>A proxy</html>"));
  const error = await client.getUsage().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status, code: `http_${status}`, details: [], retry_after_seconds: null });
  expect(received).toHaveLength(1);
});

test("an empty answer where a body is required counts as another program's", async () => {
  const { client } = await serve((response) => void response.writeHead(200).end());
  await expect(client.submitIntent(submission)).rejects.toMatchObject({ name: "ApiError", code: "http_200" });
});

test("a broken connection is retried and, in the end, a ConnectionError with the reason", async () => {
  const { client, received } = await serve((response) => void response.socket?.destroy());
  const error = await client.getUsage().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ConnectionError);
  expect((error as Error).message).toMatch(
    /^no answer from http:\/\/127\.0\.0\.1:\d+\/v1\/usage: .*(closed|socket|hang)/,
  );
  expect(received).toHaveLength(3);
});

const broken = (status: number) => (response: ServerResponse) => {
  response.writeHead(status, { "content-type": "application/json", "content-length": "99" });
  response.write('{"usage":', () => response.destroy());
};

test.each([200, 503])("an answer of %i that breaks in the middle is a broken connection, too", async (status) => {
  const mended = await serve(broken(status), json(200, { usage: { plan_id: "p" } }));
  expect(await mended.client.getUsage()).toEqual({ plan_id: "p" });
  const { client, received } = await serve(broken(status));
  await expect(client.rotateApiKey("key_1")).rejects.toBeInstanceOf(ConnectionError);
  expect(received).toHaveLength(1); // The request may have taken effect.
});

test("waitForOutcome asks until the decision is final", async () => {
  const { client, received } = await serve(
    json(200, { decision: { status: "pending" } }),
    json(200, { decision: { status: "final", outcome: "block" } }),
  );
  expect(await client.waitForOutcome("int_1")).toMatchObject({ outcome: "block" });
  expect(received.map(({ url }) => url)).toEqual(Array(2).fill("/v1/intents/int_1/decision?wait=55"));
});

test("waitForOutcome gets the outcome through a proxy with a shorter timeout", async () => {
  const final = { decision: { status: "final", outcome: "block" } };
  const { client, received } = await serve((response) => {
    const wait = Number(received.at(-1)?.url?.split("wait=")[1]);
    if (wait > 20) response.writeHead(504).end("<html>");
    else json(200, received.length > 6 ? final : { decision: { status: "pending" } })(response);
  });
  expect(await client.waitForOutcome("int_1")).toMatchObject({ outcome: "block" });
  expect(received.map(({ url }) => url?.split("wait=")[1])).toEqual([
    "55",
    "27",
    "13",
    "55",
    "27",
    "13",
    "55",
    "27",
    "13",
  ]);
});

test("waitForOutcome fails after about five minutes also if no answer comes at all", async () => {
  vi.useFakeTimers();
  try {
    const silent = (_: unknown, init?: RequestInit) =>
      new Promise<Response>((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
    const answer = createClient({ base_url: "http://service", fetch: silent }).waitForOutcome("int_1");
    const ended = expect(answer).rejects.toThrow(ConnectionError);
    let is_over = false;
    void ended.then(() => {
      is_over = true;
    });
    let waited_ms = 0;
    // No further, because other code of this process uses these timers, too.
    for (; !is_over && waited_ms < 400_000; waited_ms += 10_000) await vi.advanceTimersByTimeAsync(10_000);
    expect(is_over).toBe(true);
    expect(waited_ms).toBeGreaterThan(250_000);
    await ended;
  } finally {
    vi.useRealTimers();
  }
});

test("an invalid address is refused before any request", () => {
  const unset = process.env.COUNTERSIGN_URL_THAT_NOBODY_SET as string;
  for (const base_url of [
    "localhost:8080",
    "127.0.0.1:8080",
    "ftp://localhost",
    "",
    "http://",
    "http://x/?y",
    "http://x:99999",
    unset,
  ])
    expect(() => createClient({ base_url })).toThrow(/^base_url takes an address/);
});

test("a user and password in the address are refused, as by fetch, and not quoted", () => {
  for (const base_url of ["http://ann:secret@localhost:8080", "https://secret@localhost"])
    expect(() => createClient({ base_url })).toThrow(
      new TypeError("base_url takes an address without user and password: give the key as api_key"),
    );
});

test("a key that no header can contain is refused without being quoted; surrounding space is ignored", async () => {
  const { base_url, client, received } = await serve(json(200, { usage: {} }));
  for (const api_key of ["svc_live_org_abc\nsvc_live_org_def", "svc_live_org_ü"])
    await expect(createClient({ base_url, api_key }).getUsage()).rejects.toMatchObject({
      code: "invalid_api_key",
      message: "nothing was sent: the API key contains a character that no key has",
    });
  await createClient({ base_url: `${base_url}\n`, api_key: "svc_test_org_x\n" }).getUsage();
  await client.getUsage();
  expect(received.map(({ headers }) => headers["x-api-key"])).toEqual(Array(2).fill("svc_test_org_x"));
});

test.each(["Rechnung-Ü1", "счёт", "a\nb", ""])(
  "an idempotency key that no header can contain is not a connection error: %j",
  async (key) => {
    const { client, received } = await serve(json(200, {}));
    const asked = client.submitIntent(submission, { idempotency_key: key });
    await expect(asked).rejects.toThrow(
      new TypeError(`nothing was sent: idempotency_key takes printable ASCII characters, not ${JSON.stringify(key)}`),
    );
    expect(received).toEqual([]);
  },
);

test("an aborted signal ends a call at once and without retries", async () => {
  const { client, received } = await serve(() => {});
  const abort = new AbortController();
  const answer = client.getDecision("int_1", { signal: abort.signal });
  await expect.poll(() => received.length).toBe(1);
  abort.abort();
  await expect(answer).rejects.toMatchObject({ name: "AbortError" });
  expect(received).toHaveLength(1);
});

test("with an already aborted signal, nothing is sent", async () => {
  const { client, received } = await serve(json(200, { decision: { status: "final" } }));
  const signal = AbortSignal.abort();
  await expect(client.getDecision("int_1", { signal })).rejects.toMatchObject({ name: "AbortError" });
  await expect(client.waitForOutcome("int_1", signal)).rejects.toMatchObject({ name: "AbortError" });
  await expect(client.backtest({ window: {} } as never, { signal })).rejects.toMatchObject({ name: "AbortError" });
  expect(received).toHaveLength(0);
});

test.each([Infinity, 3_000_000])("an answer may take %d seconds", async (answer_seconds_max) => {
  const { base_url } = await serve(
    (response) => void setTimeout(() => json(200, { decision: { status: "final" } })(response), 50),
  );
  const client = createClient({ base_url, answer_seconds_max, retries_max: 0 });
  expect(await client.getDecision("int_1")).toEqual({ status: "final" });
});

/** A `fetch` that returns the answers in turn and, for null, waits until it is aborted. `sent` counts the calls. */
function silence(...answers: readonly (Response | null)[]) {
  const asked = { sent: 0 };
  const fetch: typeof globalThis.fetch = (_url, init) =>
    new Promise((resolve, reject) => {
      const answer = answers[asked.sent] ?? null;
      asked.sent += 1;
      if (answer !== null) return resolve(answer);
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
    });
  const client = (answer_seconds_max: number) =>
    createClient({ base_url: "http://service.test", answer_seconds_max, fetch, wait: async () => undefined });
  return { asked, client };
}

test("a missing answer ends the attempt, and a repeatable request is retried", async () => {
  const { asked, client } = silence(null, null, Response.json({ decision: { status: "final" } }));
  expect(await client(0.005).getDecision("int_1")).toEqual({ status: "final" });
  expect(asked.sent).toBe(3);
});

test("an answer that stops in its middle ends the attempt, too", async () => {
  const { base_url } = await serve((response) => void response.writeHead(200).write("{"));
  const client = createClient({ base_url, answer_seconds_max: 0.5, retries_max: 0 });
  await expect(client.getDecision("int_1")).rejects.toThrow("within 0.5 s");
});

test("a missing answer is a ConnectionError with the wait in seconds, and a request that may have taken effect is not retried", async () => {
  const { asked, client } = silence();
  const error = await client(0.005)
    .revokeApiKey("key_1")
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(String(error)).toMatch(/no answer from .*: it did not come within 0\.005 s$/);
  expect(asked.sent).toBe(1);
});

test("the seconds of `wait` are added to the timeout of the answer", async () => {
  const { client } = silence();
  const limits = vi.spyOn(globalThis, "setTimeout");
  await expect(client(0.005).getDecision("int_1", { wait: 0.01 })).rejects.toThrow("within 0.015 s");
  expect(limits.mock.calls.map(([, wait_ms]) => wait_ms)).toContain(15);
});

test("an aborted signal ends the wait before a retry, too, and leaves no timer", async () => {
  const { base_url, received } = await serve(refusal(429, "rate_limit_exceeded", { "retry-after": "29" }));
  const [set, clear] = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "clearTimeout")];
  const timer = () => set.mock.results[set.mock.calls.findIndex(([, wait_ms]) => wait_ms === 29_000)]?.value;
  const abort = new AbortController();
  const answer = createClient({ base_url }).getDecision("int_1", { signal: abort.signal });
  await expect.poll(timer).toBeDefined();
  abort.abort(new Error("given up"));
  await expect(answer).rejects.toThrow("given up");
  expect(clear).toHaveBeenCalledWith(timer());
  expect(received).toHaveLength(1);
});

test("identifiers are escaped in paths", async () => {
  const { client, received } = await serve(json(200, { context: {} }));
  await client.getTargetContext({ type: "a/b", identifier: "x?y" });
  expect(received[0]?.url).toBe("/v1/context/targets/a%2Fb/x%3Fy");
});

test.each(["..", ".", ""])("%j as an identifier is refused before a request to another path is sent", async (wrong) => {
  const { client, received } = await serve(json(200, { context: {} }));
  const document = { contract_version: "1", facts: {} } as const;
  for (const sent of [
    client.putTargetContext({ type: wrong, identifier: "org" }, document),
    client.deleteTargetContext({ type: "account", identifier: wrong }),
    client.getAgentContext(wrong),
    client.getDecision(wrong),
  ])
    await expect(sent).rejects.toThrow(/^nothing was sent: no URL can hold "\.{0,2}" as an identifier/);
  expect(received).toEqual([]);
});

test("a redirect is an error: the key is sent to base_url only", async () => {
  const { client, received } = await serve(
    (response) => void response.writeHead(307, { location: "/elsewhere" }).end(),
  );
  await expect(client.rotateApiKey("key_1")).rejects.toBeInstanceOf(ConnectionError);
  expect(received.map(({ url }) => url)).toEqual(["/v1/api-keys/key_1/rotate"]);
});

test.each([202, 204])("an answer of %i without a body is null", async (status) => {
  const { client } = await serve((response) => void response.writeHead(status).end());
  expect(await client.forgotPassword("ann@example.com")).toBeNull();
});
