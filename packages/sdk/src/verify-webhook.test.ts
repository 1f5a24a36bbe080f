import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { verifyWebhook, WebhookRejected } from "./index.ts";

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

  test.each<[string, string, Record<string, string>, string]>([
    ["another body", `${body} `, headers, "bad_signature"],
    ["no signature", body, { "X-Service-Delivery": "dlv_1" }, "missing_headers"],
    ["no delivery id", body, { "X-Service-Signature": signature }, "missing_headers"],
    ["a signature in capitals", body, { ...headers, "X-Service-Signature": signature.toUpperCase() }, "bad_signature"],
    ["the event type of another event", body, { ...headers, "X-Service-Event": "decision.approved" }, "bad_body"],
  ])("refuses %s", async (_title, given, sent, reason) => {
    const refused = verifyWebhook(given, sent, secret);
    await expect(refused).rejects.toThrow(WebhookRejected);
    await expect(refused).rejects.toMatchObject({ reason });
  });

  test.each([JSON.parse(body), undefined])("reports that %j is not the body as received", async (parsed) => {
    const refused = verifyWebhook(parsed, headers, secret);
    await expect(refused).rejects.toMatchObject({ reason: "bad_body" });
    await expect(refused).rejects.toThrow("before any parsing");
  });

  test("accepts several secrets during a rotation, and refuses a body that matches none", async () => {
    for (const secrets of [
      [secret, "whsec_other"],
      ["whsec_other", secret],
      [secret, undefined],
    ])
      await expect(verifyWebhook(body, headers, secrets)).resolves.toMatchObject({ repeated: false });
    for (const secrets of [[], ["", "whsec_other"], [undefined]])
      await expect(verifyWebhook(body, headers, secrets)).rejects.toMatchObject({ reason: "bad_signature" });
  });

  test("refuses an empty secret, because everybody knows it", async () => {
    const forged = {
      ...headers,
      "X-Service-Signature": `sha256=${createHmac("sha256", "").update(body).digest("hex")}`,
    };
    for (const empty of ["", [""]])
      await expect(verifyWebhook(body, forged, empty)).rejects.toMatchObject({ reason: "bad_signature" });
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
