import { expect, test } from "vitest";
import { readWebhookHeaders } from "./webhook-headers.ts";

test("names are stored in lower case, and *** keeps the stored value", () => {
  expect(readWebhookHeaders({ Authorization: "***", "X-Team": "a b" }, { authorization: "Bearer t" })).toEqual({
    headers: { authorization: "Bearer t", "x-team": "a b" },
  });
});

test.each([
  ["a header of HTTP", { "Content-Length": "1" }],
  ["a header that says what a delivery is", { "X-Service-Signature": "sha256=0" }],
  ["a header of Standard Webhooks", { "Webhook-Id": "x" }],
  ["a header of CloudEvents", { "CE-Source": "/x" }],
  ["a header of a proxy", { "Proxy-Authorization": "x" }],
  ["a name with a space", { "x y": "1" }],
  ["an empty name", { "": "1" }],
  ["a name that is too long", { ["x".repeat(65)]: "1" }],
  ["a line end in a value", { "x-a": "1\r\nx-b: 2" }],
  ["a value that is not ASCII", { "x-a": "ä" }],
  ["an empty value", { "x-a": "" }],
  ["a mask without a stored value", { "x-a": "***" }],
  ["a name of every object", { constructor: "***" }],
  ["one name in two spellings", { "X-A": "1", "x-a": "2" }],
])("%s is refused", (_title, headers) => {
  expect(readWebhookHeaders(headers)).toHaveProperty("problem");
});
