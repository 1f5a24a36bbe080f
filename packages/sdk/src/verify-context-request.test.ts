import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { verifyContextRequest } from "./index.ts";

const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const intent = { agent: { id: "a" }, action: { verb: "pay" } };
const body = JSON.stringify({ contract_version: "1", intent });
const signed = (text: string) => ({
  "X-Service-Delivery": "req_1",
  "X-Service-Signature": `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`,
});

test("a request signed as by the service returns its intent", async () => {
  const expected = { intent, request_id: "req_1" };
  expect(await verifyContextRequest(body, signed(body), secret)).toEqual(expected);
  expect(await verifyContextRequest(Buffer.from(body), new Headers(signed(body)), secret)).toEqual(expected);
});

test.each([
  ["another secret", body, signed(body), `${secret}x`, "bad_signature"],
  ["another body", body.replace("pay", "sell"), signed(body), secret, "bad_signature"],
  ["no signature", body, { "X-Service-Delivery": "req_1" }, secret, "missing_headers"],
  ["an event", '{"event_type":"x"}', { ...signed('{"event_type":"x"}'), "X-Service-Event": "x" }, secret, "bad_body"],
  ["null", "null", signed("null"), secret, "bad_body"],
  ["no intent", '{"contract_version":"1"}', signed('{"contract_version":"1"}'), secret, "bad_body"],
])("%s is rejected", async (_title, text, headers, key, reason) => {
  await expect(verifyContextRequest(text, headers, key)).rejects.toMatchObject({ reason });
});
