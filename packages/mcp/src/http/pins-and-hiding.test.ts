/** `--pin` and `--hide-blocked` in front of a server behind HTTP: both ways to reach it, in both revisions. */
import { Client as LaterClient, StreamableHTTPClientTransport as LaterHttp } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { StdioServerTransport as LaterStdio } from "@modelcontextprotocol/server/stdio";
import { expect, onTestFinished, test } from "vitest";
import type { GovernorOptions } from "../governor.ts";
import type { Answering } from "../testing/fake-service.ts";
import { bridged, proxied, sessionBank, statelessBank } from "../testing/http-ends.ts";
import { memoryPins } from "../testing/memory-pins.ts";

const capabilities = { elicitation: { url: {} } };
const info = { name: "desk", version: "1" };

/** Starts a bank and the proxy in front of it, and connects the protocol's own client. `open` gets the pages to open. */
async function connected(
  way: "listen" | "bridge",
  revision: "2025-11-25" | "2026-07-28",
  terms: Partial<GovernorOptions>,
  answering?: Answering,
) {
  const is_later = revision === "2026-07-28";
  const bank = await (is_later ? statelessBank() : sessionBank());
  const opened: unknown[] = [];
  const ways = {
    listen: () => proxied(bank.url, answering, {}, terms),
    bridge: async () => ({ url: "", ...bridged(bank.url, answering, terms) }),
  };
  const service = await ways[way]();
  const [output, input] = "output" in service ? [service.output, service.input] : [undefined, undefined];
  const open = (params: { url?: unknown; message: string }) => {
    opened.push(params.message);
    service.rule({ outcome: "approve" }, "int_1");
    return { action: "accept" as const };
  };
  if (is_later) {
    const client = new LaterClient(info, { capabilities, versionNegotiation: { mode: { pin: revision } } });
    client.setRequestHandler("elicitation/create", ({ params }) => open(params));
    await client.connect(way === "listen" ? new LaterHttp(new URL(service.url)) : new LaterStdio(output, input));
    onTestFinished(() => client.close());
    return { client, service, bank, opened };
  }
  const client = new Client(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => open(params));
  const http = () => new StreamableHTTPClientTransport(new URL(service.url)) as Parameters<Client["connect"]>[0];
  await client.connect(way === "listen" ? http() : new StdioServerTransport(output, input));
  onTestFinished(() => client.close());
  return { client, service, bank, opened };
}

const all = (["listen", "bridge"] as const).flatMap((way) =>
  (["2025-11-25", "2026-07-28"] as const).map((revision) => [way, revision] as const),
);

test.each(all)("%s, %s: people accept a changed definition before the call is made", async (way, revision) => {
  const { store, pins } = memoryPins();
  store.pinFirst("pay", { description: "pays" });
  const { client, service, bank, opened } = await connected(way, revision, { pins: store }, ({ intent }) =>
    intent.action.verb === "pay" ? { outcome: "approve" } : { status: "pending", escalation_id: "esc_1" },
  );
  const paid = await client.callTool({ name: "pay", arguments: { n: 5 } });
  expect(JSON.stringify(paid)).toContain("paid 5");
  expect(opened).toEqual([expect.stringContaining('the changed definition of the tool "pay"')]);
  expect(service.submitted.map(({ intent }) => intent.action.verb)).toEqual(["accept_tool_change", "pay"]);
  expect([bank.payments.length, pins.get("pay")?.["description"]]).toEqual([1, undefined]);
});

test.each(all)(
  "%s, %s: a tool that is always blocked is not listed, and its call is still decided",
  async (way, revision) => {
    const findBlockedTools: GovernorOptions["findBlockedTools"] = async ({ verbs }) =>
      verbs.map((verb) => ({ verb, policy: "no-payments" }));
    const answering: Answering = () => ({ outcome: "block" });
    const { client, service, bank } = await connected(way, revision, { findBlockedTools }, answering);
    expect((await client.listTools()).tools).toEqual([]);
    expect(await client.callTool({ name: "pay", arguments: { n: 5 } })).toMatchObject({ isError: true });
    expect([service.submitted.length, bank.payments]).toEqual([1, []]);
  },
);
