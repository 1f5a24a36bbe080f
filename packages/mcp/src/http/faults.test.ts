/**
 * Faults on the way to a server behind HTTP, for clients on standard streams and over HTTP. No call is made without a
 * decision, none is made twice, and the model reads whether a call may have been made.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { expect, onTestFinished, test } from "vitest";
import { fakeService, refusal } from "../testing/fake-service.ts";
import { bridged, proxied, serving, sessionBank } from "../testing/http-ends.ts";

type Ways = "listen" | "bridge";
type Given = Parameters<typeof bridged>;

async function connected(way: Ways, ...[server, answering, terms]: Given) {
  const client = new Client({ name: "desk", version: "1" });
  const connect = (transport: object) => client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  const pay = () => client.callTool({ name: "pay", arguments: { n: 1 } }).catch((error: Error) => error.message);
  if (way === "bridge") {
    const made = bridged(server, answering, terms);
    await connect(new StdioServerTransport(made.output, made.input));
    return { ...made, client, pay };
  }
  const made = await proxied(server, answering, {}, terms);
  await connect(new StreamableHTTPClientTransport(new URL(made.url)));
  return { ...made, client, pay };
}

/** A server of one tool, whose calls the test answers. */
async function badServer(answerCall: (id: unknown, response: ServerResponse) => void) {
  let calls = 0;
  const url = await serving(async (request: IncomingMessage, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { id, method } = JSON.parse(body === "" ? "{}" : body);
    const answer = (result: object) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    if (method === "initialize")
      return answer({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "b", version: "1" },
      });
    if (method === "tools/list") return answer({ tools: [{ name: "pay", inputSchema: { type: "object" } }] });
    if (method !== "tools/call") return response.writeHead(request.method === "GET" ? 405 : 202).end();
    calls += 1;
    return answerCall(id, response);
  });
  return { url: `${url}/mcp`, calls: () => calls };
}

const events = { "content-type": "text/event-stream" };
const deaths = [
  ["before its answer", (_: unknown, response: ServerResponse) => response.socket?.destroy()],
  [
    "within an answer of JSON",
    (_: unknown, response: ServerResponse) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      response.write('{"jsonrpc":', () => response.socket?.destroy());
    },
  ],
  [
    "within a stream",
    (_: unknown, response: ServerResponse) => {
      response.writeHead(200, events);
      response.write(": begun\n\n", () => response.socket?.destroy());
    },
  ],
  ["with something else than the protocol", (_: unknown, response: ServerResponse) => response.writeHead(200).end("?")],
] as const;
const ways = ["listen", "bridge"] as const;

test.each(ways.flatMap((way) => deaths.map((death) => [way, ...death] as const)))(
  "%s: a server that dies during a call, %s: the model reads that the call may have been made, once",
  async (way, _, die) => {
    const server = await badServer(die);
    const { pay, observed } = await connected(way, server.url);
    expect(await pay()).toMatch(/Find out whether it was executed before you call again/);
    await expect.poll(() => observed).toMatchObject([{ status: "failed" }]);
    expect(server.calls()).toBe(1);
  },
);

test.each(ways)("%s: a frame that is not JSON does not keep the answer from the client", async (way) => {
  const server = await badServer((id, response) => {
    const answer = JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "paid" }] } });
    response.writeHead(200, events).end(`data: {"jsonrpc":\n\ndata: [1,\n\ndata: ${answer}\n\n`);
  });
  const { pay, observed } = await connected(way, server.url);
  expect(JSON.stringify(await pay())).toContain("paid");
  await expect.poll(() => observed).toMatchObject([{ status: "executed" }]);
});

test.each(
  ways.flatMap((way) =>
    (["submitIntent", "claimIntent"] as const).flatMap((at) =>
      [refusal(429, "rate_limited"), refusal(401, "invalid_api_key"), new Error("no answer")].map(
        (error) => [way, at, error.message, error] as const,
      ),
    ),
  ),
)(
  "%s: without an answer of the service (%s: %s) the call is not made, and the session goes on",
  async (way, at, _, error) => {
    const bank = await sessionBank();
    const service = fakeService();
    let is_failing = true;
    const fail = () => (is_failing ? Promise.reject(error) : Promise.resolve());
    const client: typeof service.client = {
      ...service.client,
      submitIntent: async (...given) => {
        if (at === "submitIntent") await fail();
        return service.client.submitIntent(...given);
      },
      claimIntent: async (...given) => {
        if (at === "claimIntent") await fail();
        return service.client.claimIntent(...given);
      },
    };
    const { pay } = await connected(way, bank.url, undefined, { client });
    expect(JSON.stringify(await pay())).toContain("Not decided, so nothing was done");
    expect(bank.payments).toEqual([]);
    is_failing = false;
    expect(JSON.stringify(await pay())).toContain("paid 1");
  },
);

test.each(ways)("%s: a service that answers after the client gave up makes no call", async (way) => {
  const bank = await sessionBank();
  const service = fakeService();
  let decide: () => void = () => undefined;
  const deciding = new Promise<void>((resolve) => {
    decide = resolve;
  });
  const slow: typeof service.client.submitIntent = async (...given) => {
    await deciding;
    return service.client.submitIntent(...given);
  };
  const { client } = await connected(way, bank.url, undefined, { client: { ...service.client, submitIntent: slow } });
  await client.listTools();
  const giving_up = new AbortController();
  const call = { name: "pay", arguments: { n: 1 } };
  const given_up = client.callTool(call, undefined, { signal: giving_up.signal }).catch(() => "gave up");
  // The ping is answered after the proxy took the call.
  await client.ping();
  giving_up.abort();
  expect(await given_up).toBe("gave up");
  await client.ping();
  decide();
  await expect.poll(() => service.observed).toMatchObject([{ status: "skipped" }]);
  expect(bank.payments).toEqual([]);
});

test.each(ways)(
  "%s: an outcome that the service does not take is reported to the operator, and the client gets its answer",
  async (way) => {
    const bank = await sessionBank();
    const { client } = fakeService();
    const recordObservation = () => Promise.reject(refusal(401, "invalid_api_key"));
    const { pay, notes } = await connected(way, bank.url, undefined, { client: { ...client, recordObservation } });
    expect(JSON.stringify(await pay())).toContain("paid 1");
    await expect
      .poll(() => notes)
      .toEqual([expect.stringMatching(/outcome of int_1 could not be recorded.*invalid_api_key/)]);
    expect(bank.payments).toEqual([1]);
  },
);

test("two proxies for one client: a held call goes on in the other one, and is made once", async () => {
  const bank = await sessionBank();
  const service = fakeService(() => ({ outcome: null, status: "pending", escalation_id: "esc_1" }));
  // The service joins equal calls of one agent to one intent.
  const joined = new Map<string, ReturnType<typeof service.client.submitIntent>>();
  const submitIntent: typeof service.client.submitIntent = (submission) => {
    const key = JSON.stringify(submission.intent.payload);
    const answer = joined.get(key) ?? service.client.submitIntent(submission);
    joined.set(key, answer);
    return answer;
  };
  const client = { ...service.client, submitIntent };
  const [one, two] = [
    await connected("listen", bank.url, undefined, { client }),
    await connected("bridge", bank.url, undefined, { client }),
  ];
  const answers = [one.pay(), two.pay()];
  await expect.poll(() => service.waiting()).toBe(2);
  service.rule({ outcome: "approve" });
  const texts = (await Promise.all(answers)).map((answer) => JSON.stringify(answer));
  expect(texts.filter((text) => text.includes("paid 1"))).toHaveLength(1);
  expect(texts.filter((text) => text.includes("Claimed before"))).toHaveLength(1);
  expect(bank.payments).toEqual([1]);
});
