/** Source: docs/decisions/0015. */
import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createSealer } from "../../src/edge/start/sealer.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testCertificates } from "../../src/testing/network/certificates.ts";
import {
  facts,
  intent,
  json,
  missing,
  open,
  outcome as outcomeOn,
  pulling as pullingOn,
  short_ms,
  sourceNode,
} from "../../src/testing/network/context-source.ts";
import { type AnswerWith, type Receiver, testReceiver } from "../../src/testing/network/receiver.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import type { Reviewed } from "../../src/testing/people/review.ts";

const database = await testDatabase();
/** Does not move, so that no query runs out of time. Short time limits run on real timers. */
const now_us = Date.now() * 1000;
let url: string;
beforeAll(async () => {
  ({ url } = await sourceNode(database, {}, { clock: { now_us: () => now_us } }));
});
const pulling = (base = url) => pullingOn(database, base);
const outcome = (org: Reviewed, made: Parameters<typeof outcomeOn>[1], at = url) => outcomeOn(org, made, at);

describe("a source without an answer makes facts missing, with a reason, and never fails the agent's request:", () => {
  let org: Awaited<ReturnType<typeof pulling>>;
  beforeAll(async () => {
    org = await pulling();
  });

  async function failing(to: Receiver | string, reason: string, timeout_ms?: number) {
    await org.register(to, timeout_ms);
    const made = await org.submit();
    expect([made.status, made.json.decision.verdict]).toEqual([201, "escalate"]);
    expect(await outcome(org, made)).toMatchObject({ recorded: reason, unknown: [{ path: missing, reason }] });
    const [{ message }] = made.json.decision.reasons;
    expect(message).toContain(`${missing} is missing (the context source`);
  }

  test.each<[string, AnswerWith, string]>([
    ["a status of 500", (response) => response.writeHead(500).end(), "source_error"],
    ["a status of 404", (response) => response.writeHead(404).end(facts({})), "source_error"],
    ["201", (response) => response.writeHead(201).end(facts({})), "source_error"],
    ["no JSON", json("<html>"), "source_invalid"],
    ["nothing at all", json(""), "source_invalid"],
    ["two documents", json(facts({}) + facts({})), "source_invalid"],
    ["a list", json("[]"), "source_invalid"],
    ["another version", json('{"contract_version":1,"facts":{}}'), "source_invalid"],
    ["an unknown category", json('{"contract_version":"1","facts":{"nonsense":{}}}'), "source_invalid"],
    ["a fact of the wrong type", json(facts({ prompt_injection_detected: "false" })), "source_invalid"],
    ["a fact from the future", json(facts({}, { as_of: { security: "2199-01-01T00:00:00Z" } })), "source_invalid"],
    ["a key that changes prototypes", json(facts({ x: 1 }).replace('"x":1', '"x":{"__proto__":{}}')), "source_invalid"],
    ["a NUL", json(facts({ x: "\0" })), "source_invalid"],
    ["bad UTF-8", (response) => response.end(Buffer.from([0x7b, 0xff, 0x7d])), "source_invalid"],
    [
      "nesting without an end",
      json(facts({}).replace("{}", `{"x":${"[".repeat(50)}${"]".repeat(50)}}`)),
      "source_invalid",
    ],
    ["a compressed answer", (response) => response.end(gzipSync(facts({}))), "source_invalid"],
    ["one byte too much", json(facts({}).padEnd(limits.context_source_answer_bytes_max + 1)), "source_too_large"],
    ["nothing in time", () => undefined, "source_timeout"],
    ["half an answer in time", (response) => response.writeHead(200).write("{"), "source_timeout"],
  ])("%s", async (_title, answer, reason) => {
    await failing(await testReceiver(answer), reason, reason === "source_timeout" ? short_ms : undefined);
  });

  test("an answer of exactly the largest size is accepted", async () => {
    const text = facts({ prompt_injection_detected: false }).padEnd(limits.context_source_answer_bytes_max);
    await org.register(await testReceiver(json(text)));
    expect((await org.submit()).json.decision.verdict).toBe("approve");
  });

  test("gigabytes are cut off, and memory does not grow", async () => {
    let closed = 0;
    const receiver = await testReceiver((response) => {
      const chunk = Buffer.alloc(65_536, 0x20);
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response
        .writeHead(200)
        .on("drain", more)
        .on("close", () => (closed += 1));
      more();
    });
    const before = process.memoryUsage().arrayBuffers;
    await failing(receiver, "source_too_large");
    await expect.poll(() => closed).toBe(1);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000);
  });

  test.each([301, 302, 307, 308])("a redirect with %i, which is not followed", async (status) => {
    const elsewhere = await testReceiver(json(facts({})));
    const receiver = await testReceiver((response) => response.writeHead(status, { location: elsewhere.url }).end());
    await failing(receiver, "source_error");
    expect(elsewhere.connections()).toBe(0);
  });

  test.each(["wrong_name", "expired", "self_signed"] as const)("a certificate that is %s", async (which) => {
    const receiver = await testReceiver(json(facts({})), testCertificates()[which]);
    await failing(receiver, "source_unreachable");
    expect(receiver.received).toEqual([]);
  });

  test("nothing listens", async () => {
    const receiver = await testReceiver();
    await receiver.close();
    await failing(receiver, "source_unreachable");
  });

  test("a server that accepts and never speaks TLS", async () => {
    const open = new Set<Socket>();
    const server = createServer((socket) => void open.add(socket.on("error", () => undefined)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo;
    await failing(`https://receiver.test:${port}/`, "source_timeout", short_ms);
  });

  test("a name that resolves to a private address since its registration", async () => {
    let addresses = ["127.0.0.1"];
    const node = await sourceNode(database, { resolve: async () => addresses });
    const receiver = await testReceiver(json(facts({})));
    const org = await pulling(node.url);
    await org.register(receiver);
    addresses = ["127.0.0.1", "10.0.0.1"];
    // The name looked up for the registration stays cached for a second.
    await expect
      .poll(async () => (await outcome(org, await org.submit({ intent: { ...intent, data_classes: [] } }))).recorded)
      .toBeUndefined();
    await expect
      .poll(async () => {
        const fresh = { ...intent, payload: { content: { n: Math.random() } } };
        return (await outcome(org, await org.submit({ intent: fresh }))).recorded;
      })
      .toBe("source_refused");
  });

  test("a name server that never answers", async () => {
    const never = new Promise<string[]>(() => undefined);
    let asked = 0;
    const node = await sourceNode(database, { resolve: async () => (asked++ === 0 ? ["127.0.0.1"] : never) });
    const org = await pulling(node.url);
    await org.register(await testReceiver(json(facts({}))), short_ms);
    await expect
      .poll(async () => {
        const fresh = { ...intent, payload: { content: { n: Math.random() } } };
        return (await outcome(org, await org.submit({ intent: fresh }))).recorded;
      })
      .toBe("source_timeout");
  });

  test("a secret that was sealed with another master key", async () => {
    const org = await pulling();
    const receiver = await testReceiver(json(facts({})));
    await org.register(receiver);
    const { url: elsewhere } = await sourceNode(database, {}, { sealer: createSealer(Buffer.alloc(32, 8)) });
    const made = await org.submit({}, elsewhere);
    expect(made.status).toBe(201);
    expect((await outcome(org, made)).recorded).toBe("source_secret");
    expect(receiver.received).toEqual([]);
  });
});

describe("a slow source", () => {
  const distinct = (n: number) => ({ intent: { ...intent, payload: { content: { n } } } });

  test("delays nobody else: while one organization's pulls hang, others decide, alone and in batches", {
    timeout: 120_000,
  }, async () => {
    const slow = await pulling();
    const held: ServerResponse[] = [];
    let released = false;
    const answer = (response: ServerResponse) => response.writeHead(500).end();
    const receiver = await testReceiver((response) => void (released ? answer(response) : held.push(response)));
    await slow.register(receiver);
    const other = await pulling();
    const batch = (key: string, from: number) =>
      call(url, "POST", "/v1/intents/batch", {
        key,
        body: { intents: Array.from({ length: 50 }, (_, n) => distinct(from + n)) },
      });
    // 150 items: the node decides at most 100 of one organization at once.
    const hanging = Promise.allSettled(Array.from({ length: 3 }, (_, n) => batch(slow.agent, n * 50)));
    try {
      await expect.poll(() => held.length).toBe(limits.context_source_pulls_max);
      const answers = await Promise.all([other.submit(), batch(other.agent, 0)]);
      expect(answers.map((each) => each.status)).toEqual([201, 200]);
      expect(answers[1]?.json.succeeded).toBe(50);
      const open = [held.length, held.some((response) => response.destroyed)];
      expect(open).toEqual([limits.context_source_pulls_max, false]);
    } finally {
      // Errors make the node skip the source, so the waiting pulls end soon.
      released = true;
      for (const response of held) answer(response);
      await hanging;
    }
    for (const each of await hanging)
      expect(each).toMatchObject({ status: "fulfilled", value: { status: 200, json: { succeeded: 50 } } });
  });

  test(`has at most ${limits.context_source_pulls_max} questions open; the others do not wait past their time`, async () => {
    const org = await pulling();
    await org.register(await testReceiver(() => undefined), short_ms);
    open.most = 0;
    const made = await Promise.all(Array.from({ length: 24 }, (_, n) => org.submit(distinct(n))));
    expect(made.every((each) => each.status === 201)).toBe(true);
    expect(open.most).toBeLessThanOrEqual(limits.context_source_pulls_max);
    const reasons = await Promise.all(made.map(async (each) => (await outcome(org, each)).recorded));
    expect(reasons).toContain("source_timeout");
    for (const reason of reasons) expect(["source_timeout", "source_busy", "source_paused"]).toContain(reason);
  });
});
