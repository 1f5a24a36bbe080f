import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { verifyWebhook, type WebhookRejected } from "./index.ts";

const vectors: {
  id: string;
  secret: string;
  body_base64?: string;
  signature: string;
  must_not_equal: Record<string, string>;
}[] = JSON.parse(readFileSync(new URL("../../../test/data/hmac-vectors.json", import.meta.url), "utf8")).vectors;

const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const body = '{"data":{},"event_type":"quota.exceeded","webhook_id":"wh_1"}';
const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
const headers = {
  "X-Service-Delivery": "dlv_1",
  "X-Service-Event": "quota.exceeded",
  "X-Service-Signature": signature,
};

describe("verifyWebhook", () => {
  test("returns the event of a genuine delivery, for any form of headers and body", async () => {
    const expected = { event: JSON.parse(body), delivery_id: "dlv_1", manual_retry: false, repeated: false };
    expect(await verifyWebhook(body, headers, secret)).toEqual(expected);
    expect(await verifyWebhook(Buffer.from(body), new Headers(headers), secret)).toEqual(expected);
    const bytes = Uint8Array.from(Buffer.from(body)).buffer;
    expect(await verifyWebhook(bytes, headers, secret)).toEqual(expected);
    const retried = await verifyWebhook(body, { ...headers, "x-service-retry": "true" }, secret);
    expect(retried.manual_retry).toBe(true);
  });

  test.each(vectors.filter((each) => each.body_base64 !== undefined).map((each) => [each.id, each] as const))(
    "%s: accepts the right signature and none of the usual mistakes",
    async (_id, vector) => {
      const bytes = Buffer.from(vector.body_base64 ?? "", "base64");
      const outcome = async (signed: string) => {
        const given = { ...headers, "X-Service-Signature": signed };
        return verifyWebhook(bytes, given, vector.secret).then(
          () => "accepted",
          (error: WebhookRejected) => error.reason,
        );
      };
      // Some bodies are not events, but they must not be refused for their signature.
      expect(await outcome(vector.signature)).not.toBe("bad_signature");
      for (const mistake of Object.values(vector.must_not_equal)) expect(await outcome(mistake)).toBe("bad_signature");
    },
  );

  test.each([JSON.parse(body), undefined])("reports that %j is not the body as received", async (parsed) => {
    const refused = verifyWebhook(parsed, headers, secret);
    await expect(refused).rejects.toMatchObject({ reason: "bad_body" });
    await expect(refused).rejects.toThrow("before any parsing");
  });

  test("calls the replay guard only for genuine deliveries, and returns its answer", async () => {
    const asked: string[] = [];
    const known = new Set<string>();
    const seen = (id: string) => {
      asked.push(id);
      return known.has(id) || !known.add(id);
    };
    await verifyWebhook("forged", headers, secret, { seen }).catch(() => undefined);
    expect(asked).toEqual([]);
    expect((await verifyWebhook(body, headers, secret, { seen })).repeated).toBe(false);
    expect((await verifyWebhook(body, headers, secret, { seen })).repeated).toBe(true);
  });
});
