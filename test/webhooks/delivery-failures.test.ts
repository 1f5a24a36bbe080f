import { readFileSync } from "node:fs";
import { deliveryFailureText, deliveryFailureTexts } from "@countersign/core";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createClock } from "../../packages/server/src/edge/clock.ts";
import { createHttpOut, type HttpOutOptions } from "../../packages/server/src/edge/outgoing/http-out.ts";
import { failureText } from "../../packages/server/src/edge/outgoing/http-out-failures.ts";
import { createSealer } from "../../packages/server/src/edge/start/sealer.ts";
import { attemptDelivery } from "../../packages/server/src/operations/webhooks/attempt-delivery.ts";
import { settlementOf } from "../../packages/server/src/operations/webhooks/settle-attempts.ts";
import { secretContext } from "../../packages/server/src/store/webhooks/webhooks.ts";
import { resolveToLoopback, testReceiver } from "../../packages/server/src/testing/network/receiver.ts";
import { type Arranged, hostileCases, hostileClient } from "./hostile-receivers.ts";

const clock = createClock();
const sealer = createSealer(Buffer.alloc(32, 1));
const ids = { org_id: "org_1", webhook_id: "wh_1" };
const golden: { failure: string; text: string; provoked_by: string[] }[] = JSON.parse(
  readFileSync(new URL("../data/delivery-failures.json", import.meta.url), "utf8"),
);
const contract_timeout_ms = 10_000;

/** Timers that fire only when the test says so. */
function handTimers() {
  const waits: { wait_ms: number; run: () => void; cancelled: boolean }[] = [];
  return {
    waits,
    after(wait_ms: number, run: () => void) {
      const wait = { wait_ms, run, cancelled: false };
      waits.push(wait);
      return () => {
        wait.cancelled = true;
      };
    },
  };
}

async function attempt({ url, client = {}, number = 1, untilLate, ...arranged }: Arranged) {
  const timers = handTimers();
  const httpOut = createHttpOut({ resolve: resolveToLoopback, ...hostileClient, ...client, after: timers.after });
  onTestFinished(() => httpOut.close());
  const leased = {
    ...{ ...ids, delivery_id: "dlv_1", event_type: "quota.exceeded", intent_id: null },
    ...{ body: '{"event_type":"quota.exceeded"}', original_delivery_id: null, number, outcomes: [], url },
    ...{ next_secret_sealed: null, headers_sealed: null, paused: false },
    secret_sealed: (arranged.sealer ?? sealer).seal("whsec_x", secretContext(ids.org_id, ids.webhook_id)),
  };
  const attempting = attemptDelivery({ clock, sealer, httpOut }, leased);
  if (untilLate !== undefined) {
    await untilLate();
    // One limit covers the whole attempt. Nothing that the receiver does resets it.
    expect(timers.waits.map(({ wait_ms }) => wait_ms)).toEqual([contract_timeout_ms]);
    timers.waits[0]?.run();
  }
  return { settlement: settlementOf(await attempting), timers };
}

describe("a receiver that", () => {
  test.each(hostileCases.map((each) => [each.title, each] as const))("%s", async (_title, hostile) => {
    const arranged = await hostile.arrange();
    const { settlement } = await attempt(arranged);
    const recorded = settlement.outcomes.at(-1);
    expect(recorded?.error).toBe(deliveryFailureText(hostile.failure, hostile.values));
    expect(recorded?.response_status).toBe(hostile.values?.status ?? null);
    expect(settlement.status).toBe(arranged.number === undefined ? "pending" : "failed");
    expect(arranged.nothingReached?.() ?? 0).toBe(0);
  });
});

describe("the list of reasons", () => {
  const inCode = Object.entries(deliveryFailureTexts).map(([failure, text]) => ({
    failure,
    text,
    provoked_by: hostileCases.filter((each) => each.failure === failure).map(({ title }) => title),
  }));

  test("equals the data file, and each was provoked above", () => {
    expect(inCode).toEqual(golden);
    expect(golden.filter(({ provoked_by }) => provoked_by.length === 0)).toEqual([]);
  });

  test("has unique titles and sentences", () => {
    expect(new Set(hostileCases.map(({ title }) => title)).size).toBe(hostileCases.length);
    expect(new Set(golden.map(({ text }) => text)).size).toBe(golden.length);
  });

  test("covers every possible error", () => {
    const templates = golden
      .filter(({ failure }) => failure !== "refused")
      .map(({ text }) => new RegExp(`^${text.replace(/[.()]/g, "\\$&").replace(/\{\w+\}/g, ".+")}$`));
    const error = fc.record(
      { name: fc.string(), code: fc.oneof(fc.string(), fc.integer()), message: fc.string(), cause: fc.anything() },
      { requiredKeys: [] },
    );
    const several = fc.array(error).map((errors) => new AggregateError(errors));
    fc.assert(
      fc.property(fc.oneof(error, several, fc.anything()), (each) => {
        const text = failureText(each, 10_000);
        expect(templates.filter((template) => template.test(text))).toHaveLength(1);
      }),
    );
  });

  test("a sentence is never recorded with a missing value", () => {
    expect(() => deliveryFailureText("redirected", {})).toThrow("needs its status");
  });
});

describe("a receiver that takes the event", () => {
  const taken = async (arranged: Arranged) => (await attempt(arranged)).settlement;

  test.each([200, 201, 202, 204, 206, 299])("with %i: delivered", async (status) => {
    const { url } = await testReceiver((response) => response.writeHead(status).end());
    const { status: settled, outcomes } = await taken({ url });
    expect(settled).toBe("delivered");
    expect(outcomes).toMatchObject([{ response_status: status, error: null }]);
  });

  test("in the last moment: delivered, and the later timeout changes nothing", async () => {
    const receiver = await testReceiver((response) => response.writeHead(200).end());
    const { settlement, timers } = await attempt({ url: receiver.url });
    timers.waits[0]?.run();
    expect(settlement).toMatchObject({ status: "delivered", outcomes: [{ response_status: 200, error: null }] });
    expect(timers.waits[0]).toMatchObject({ wait_ms: contract_timeout_ms, cancelled: true });
  });

  test("after several 103: delivered", async () => {
    const { url } = await testReceiver((response) => {
      for (let n = 0; n < 5; n += 1) response.writeEarlyHints({ link: "</x>; rel=preload" });
      response.writeHead(204).end();
    });
    expect((await taken({ url })).status).toBe("delivered");
  });

  test("and streams two gigabytes: is stopped long before, with its connection", async () => {
    const whole = 2 * 1024 ** 3;
    const chunk = Buffer.alloc(65_536);
    let written = 0;
    let closed = false;
    const close = () => {
      closed = true;
    };
    const receiver = await testReceiver((response) => {
      const more = () => {
        while (!response.destroyed && written < whole) {
          written += chunk.length;
          if (!response.write(chunk)) return;
        }
        response.end();
      };
      response.on("close", close).on("error", () => undefined);
      response.writeHead(200).on("drain", more);
      more();
    });
    expect((await taken({ url: receiver.url })).status).toBe("delivered");
    await expect.poll(() => closed).toBe(true);
    // The service reads 64 KiB; the rest stays in socket and TLS buffers.
    expect(written).toBeLessThan(32 * 1024 ** 2);
  });

  test("and stops after its head: is cut off after the second allowed for the body", async () => {
    let closed = false;
    const close = () => {
      closed = true;
    };
    const receiver = await testReceiver((response) => {
      response.on("close", close);
      response.writeHead(200).write("and");
    });
    const { settlement, timers } = await attempt({ url: receiver.url });
    expect(settlement.status).toBe("delivered");
    expect(closed).toBe(false);
    expect(timers.waits.map(({ wait_ms, cancelled }) => [wait_ms, cancelled])).toEqual([
      [contract_timeout_ms, true],
      [1_000, false],
    ]);
    timers.waits[1]?.run();
    await expect.poll(() => closed).toBe(true);
  });

  test("at the second of two addresses, if nothing listens at the first: delivered", async () => {
    const receiver = await testReceiver();
    const resolve = async () => ["127.0.0.2", "127.0.0.1"];
    expect((await taken({ url: receiver.url, client: { resolve } })).status).toBe("delivered");
  });

  test("whose name resolves differently at connection time: gets it at the checked address", async () => {
    const receiver = await testReceiver();
    let lookups = 0;
    const resolve: HttpOutOptions["resolve"] = async () => (lookups++ === 0 ? ["127.0.0.1"] : ["10.0.0.1"]);
    expect((await taken({ url: receiver.url, client: { resolve } })).status).toBe("delivered");
    expect([lookups, receiver.received.length]).toEqual([1, 1]);
  });
});
