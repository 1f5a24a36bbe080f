import { networkList } from "@countersign/core";
import { expect, onTestFinished, test } from "vitest";
import { testCertificates } from "../../testing/network/certificates.ts";
import { resolveToLoopback, testReceiver } from "../../testing/network/receiver.ts";
import { createHttpOut } from "./http-out.ts";

test("a PUT sends its bytes, and a caller that stops ends its request", async () => {
  const taking = await testReceiver((response, { path }) => void (path === "/hook" && response.end()));
  const rules = { allow_http: false, allow_networks: networkList(["127.0.0.0/8"]) };
  const out = createHttpOut({ rules, resolve: resolveToLoopback, ca: testCertificates().ca });
  onTestFinished(() => out.close());
  const terms = { timeout_ms: 60_000, answer_bytes_max: 100, method: "PUT" } as const;
  const bytes = Buffer.from([0, 255, 10]);
  expect(await out.ask(taking.url, { "x-a": "1" }, bytes, terms)).toMatchObject({ status: 200 });
  expect(taking.received[0]).toMatchObject({ bytes, headers: { "x-a": "1", "content-length": "3" } });
  const stopping = new AbortController();
  const asked = out.ask(taking.url.replace("/hook", "/hangs"), {}, bytes, { ...terms, stopping: stopping.signal });
  await expect.poll(() => taking.received.length).toBe(2);
  stopping.abort();
  expect(await asked).toMatchObject({ failed: "unreachable" });
});
