import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, test } from "vitest";
import { eventJson } from "../values/canonical-json.ts";
import { contractSignature, deliveryHeaders } from "./signature.ts";

interface Vector {
  readonly id: string;
  readonly name: string;
  readonly secret: string;
  readonly body_base64?: string;
  readonly body_repeat?: { readonly unit: string; readonly count: number };
  readonly event?: unknown;
  readonly signature: string;
  readonly must_not_equal: Record<string, string>;
}
const { vectors }: { vectors: Vector[] } = JSON.parse(
  readFileSync(new URL("../../../../test/data/hmac-vectors.json", import.meta.url), "utf8"),
);

const bytesOf = ({ body_base64, body_repeat }: Vector): Buffer =>
  body_repeat === undefined
    ? Buffer.from(body_base64 ?? "", "base64")
    : Buffer.from(body_repeat.unit.repeat(body_repeat.count));
const openssl = (key: string, body: Buffer) =>
  execFileSync("openssl", ["dgst", "-sha256", "-hmac", key], { input: body }).toString().trim().split(" ").at(-1);

describe("contractSignature", () => {
  test.each(vectors)("$id: $name", (vector) => {
    const signature = contractSignature(vector.secret, bytesOf(vector));
    expect(signature).toBe(vector.signature);
    for (const mistake of Object.values(vector.must_not_equal)) expect(signature).not.toBe(mistake);
  });

  test.each(vectors.filter(({ event }) => event !== undefined))("$id: the event has exactly these bytes", (vector) => {
    expect(Buffer.from(eventJson(vector.event))).toEqual(bytesOf(vector));
  });

  test("is what openssl computes", () => {
    const simple = vectors.filter(({ secret }) => /^[\x21-\x7e]+$/.test(secret)).slice(0, 10);
    for (const vector of simple) {
      expect(`sha256=${openssl(vector.secret, bytesOf(vector))}`).toBe(
        contractSignature(vector.secret, bytesOf(vector)),
      );
    }
  });
});

describe("deliveryHeaders", () => {
  const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
  const body = '{"data":{"note":"grün ☃"},"webhook_id":"wh_1"}';
  const delivery = { delivery_id: "dlv_1", event_type: "decision.approved", body, manual_retry: false };
  const now_us = Date.now() * 1_000;

  test("are exactly those of the contract and of Standard Webhooks", () => {
    const headers = deliveryHeaders(delivery, secret, now_us);
    expect(Object.keys(headers)).toEqual([
      ...["Content-Type", "X-Service-Signature", "X-Service-Event", "X-Service-Delivery"],
      ...["webhook-id", "webhook-timestamp", "webhook-signature"],
    ]);
    expect(headers["Content-Type"]).toBe("application/json");
    expect(deliveryHeaders({ ...delivery, manual_retry: true }, secret, now_us)["X-Service-Retry"]).toBe("true");
  });

  test("are accepted by the verifiers of standardwebhooks and svix, and not with another body", () => {
    const headers = deliveryHeaders(delivery, secret, now_us);
    for (const verifier of [new StandardWebhook(secret), new SvixWebhook(secret)]) {
      expect(() => verifier.verify(body, headers)).not.toThrow();
      expect(() => verifier.verify(`${body} `, headers)).toThrow();
    }
  });
});
