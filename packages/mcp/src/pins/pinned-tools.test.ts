import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Decision } from "@countersign/contract";
import { expect, onTestFinished, test } from "vitest";
import { callOf, governed, line, soon } from "../testing/governed.ts";
import { memoryPins } from "../testing/memory-pins.ts";
import type { Definition } from "./definition.ts";
import { openPinStore, type PinStore, tools_max } from "./pin-store.ts";

const [old, changed] = [{ description: "pays" }, { description: "pays all" }];
const is_change = "accept_tool_change";

/** A governor whose service holds changes of tools and approves calls, and a client that lists `pay`. */
function pinned(store: PinStore, held: Partial<Decision> = { outcome: null, status: "pending" }, terms = {}) {
  const decide: Parameters<typeof governed>[0] = ({ intent }) =>
    intent.action.verb === is_change ? held : { outcome: "approve" };
  const toServer: string[] = [];
  const world = governed(decide, { pins: store, toServer: (said) => void toServer.push(said), ...terms });
  const list = (definition: Definition) => {
    world.governor.fromClient(line({ id: "l", method: "tools/list" }));
    world.governor.fromServer(line({ id: "l", result: { tools: [{ name: "pay", ...definition }] } }));
  };
  const asked = () => world.submitted.filter(({ intent }) => intent.action.verb === is_change);
  const made = () => toServer.filter((each) => JSON.parse(each).method === "tools/call");
  const answers = () => world.toClient.filter((each) => JSON.parse(each).id !== "l");
  const said = (n = 0) => JSON.parse(answers()[n] ?? "{}").result?.content[0].text;
  return { ...world, list, asked, made, said, answers, toServer };
}

test("a tool is pinned when it is first listed, and a tool with the same definition is called without a question", async () => {
  const { pins, store } = memoryPins();
  const { governor, list, asked, made } = pinned(store);
  list(old);
  expect(pins.get("pay")).toEqual(old);
  list({ ...old });
  governor.fromClient(callOf(1));
  await soon(() => expect(made()).toEqual([callOf(1)]));
  expect(asked()).toEqual([]);
});

test("a changed tool waits until people accept the change, and then the new definition is pinned", async () => {
  const { pins, store } = memoryPins();
  store.pinFirst("pay", old);
  const { governor, list, asked, made, rule, waiting, notes } = pinned(store);
  list(changed);
  for (const id of [1, 2]) governor.fromClient(callOf(id));
  await soon(() => expect(asked()).toHaveLength(1));
  expect(asked()[0]).toMatchObject({
    claim: "required",
    intent: {
      action: { type: "tool.change", verb: is_change, target: { type: "mcp_server" } },
      payload: { content: { tool: "pay", was: old, now: changed } },
    },
  });
  expect(notes).toEqual([expect.stringContaining('changed the definition of its tool "pay"')]);
  expect([made(), pins.get("pay")]).toEqual([[], old]);
  await soon(() => expect(waiting()).toBe(1));
  rule({ outcome: "approve" });
  await soon(() => expect(made()).toEqual([callOf(1), callOf(2)]));
  expect(pins.get("pay")).toEqual(changed);
  governor.fromClient(callOf(3));
  await soon(() => expect(made()).toHaveLength(3));
  expect(asked()).toHaveLength(1);
});

test("a change that people refuse is not asked again in this run, and no call is made", async () => {
  const { pins, store } = memoryPins();
  store.pinFirst("pay", old);
  const { governor, list, asked, made, rule, waiting, said, answers } = pinned(store);
  list(changed);
  governor.fromClient(callOf(1));
  await soon(() => expect(asked()).toHaveLength(1));
  await soon(() => expect(waiting()).toBe(1));
  rule({
    outcome: "block",
    escalation_status: "decided",
    reasons: [{ policy: "tools.changed", message: "Look." }] as never,
  });
  await soon(() => expect(said()).toContain("A reviewer decided against it. tools.changed: Look."));
  list(changed);
  governor.fromClient(callOf(2));
  await soon(() => expect(answers()).toHaveLength(2));
  expect(said(1)).toContain("A reviewer decided against it.");
  expect([asked().length, made(), pins.get("pay")]).toEqual([1, [], old]);
});

test("a change that only a rule blocks is asked again with the next call", async () => {
  const { store } = memoryPins();
  store.pinFirst("pay", old);
  const { governor, list, asked, said } = pinned(store, { outcome: "block" });
  list(changed);
  for (const id of [1, 2]) {
    governor.fromClient(callOf(id));
    await soon(() => expect(said(id - 1)).toContain("Blocked, nothing was done."));
  }
  expect(asked()).toHaveLength(2);
});

test("after the wait the model reads why, and the next call waits for the same answer", async () => {
  const { store } = memoryPins();
  store.pinFirst("pay", old);
  const { governor, list, asked, made, rule, waiting, said } = pinned(store, undefined, { wait_ms: 1 });
  list(changed);
  governor.fromClient(callOf(1));
  await soon(() =>
    expect(said()).toContain("A person must accept the change and has not yet. Nothing was done. Call the tool again"),
  );
  expect([asked().length, made()]).toEqual([1, []]);
  await soon(() => expect(waiting()).toBe(1));
  rule({ outcome: "approve" });
  await soon(() => expect(store.read("pay")).toEqual(changed));
  governor.fromClient(callOf(2));
  await soon(() => expect(made()).toEqual([callOf(2)]));
  expect(asked()).toHaveLength(1);
});

test("a cancelled call gets no answer, and the question stays open for the next one", async () => {
  const { store } = memoryPins();
  store.pinFirst("pay", old);
  const { governor, list, asked, made, rule, waiting, answers, withdrawn } = pinned(store);
  list(changed);
  governor.fromClient(callOf(1));
  await soon(() => expect(asked()).toHaveLength(1));
  governor.fromClient(line({ method: "notifications/cancelled", params: { requestId: 1 } }));
  governor.fromClient(callOf(2));
  await soon(() => expect(waiting()).toBe(1));
  rule({ outcome: "approve" });
  await soon(() => expect(made()).toEqual([callOf(2)]));
  expect([asked().length, answers(), withdrawn]).toEqual([1, [], []]);
});

test("a definition that the model may have read is asked about, though the server lists the pinned one again", async () => {
  const { store } = memoryPins();
  store.pinFirst("pay", old);
  const { governor, list, asked, made } = pinned(store);
  list(changed);
  list(old);
  governor.fromClient(callOf(1));
  await soon(() => expect(asked()).toHaveLength(1));
  expect(made()).toEqual([]);
});

test("two definitions under one name in one list are a change", async () => {
  const { store } = memoryPins();
  const { governor, asked } = pinned(store);
  governor.fromClient(line({ id: "l", method: "tools/list" }));
  const tools = [old, changed].map((definition) => ({ name: "pay", ...definition }));
  governor.fromServer(line({ id: "l", result: { tools } }));
  governor.fromClient(callOf(1));
  await soon(() => expect(asked()).toHaveLength(1));
});

test("the governor's own list counts, too: a tool that changed after a notification is asked about", async () => {
  const { store } = memoryPins();
  const { governor, list, asked, made, toServer } = pinned(store);
  list(old);
  governor.fromServer(line({ method: "notifications/tools/list_changed" }));
  governor.fromClient(callOf(1));
  await soon(() => expect(toServer.length).toBe(2));
  const { id } = JSON.parse(toServer[1] ?? "");
  governor.fromServer(line({ id, result: { tools: [{ name: "pay", ...changed }] } }));
  await soon(() => expect(asked()).toHaveLength(1));
  expect(made()).toEqual([]);
});

test("a call that waited for people is not made with a definition that changed meanwhile", async () => {
  const { store } = memoryPins();
  const decide: Parameters<typeof governed>[0] = () => ({ outcome: null, status: "pending" });
  const toServer: string[] = [];
  const terms = { pins: store, toServer: (said: string) => void toServer.push(said) };
  const { governor, toClient, submitted, waiting, rule } = governed(decide, terms);
  const list = (definition: Definition) => {
    governor.fromClient(line({ id: "l", method: "tools/list" }));
    governor.fromServer(line({ id: "l", result: { tools: [{ name: "pay", ...definition }] } }));
  };
  list(old);
  governor.fromClient(callOf(1));
  await soon(() => expect(waiting()).toBe(1));
  list(changed);
  rule({ outcome: "approve" });
  const text = "The server changed the definition of this tool while the call waited. Call the tool again.";
  await soon(() => expect(toClient.at(-1)).toContain(text));
  governor.fromClient(callOf(2));
  await soon(() => expect(submitted.at(-1)?.intent.action.verb).toBe(is_change));
  expect(toServer.filter((each) => each.includes("tools/call"))).toEqual([]);
});

test("another process may accept the change: its pin counts without a question", async () => {
  const { store } = memoryPins();
  store.pinFirst("pay", old);
  const { governor, list, asked, made } = pinned(store);
  list(changed);
  store.replace("pay", changed);
  governor.fromClient(callOf(1));
  await soon(() => expect(made()).toEqual([callOf(1)]));
  expect(asked()).toEqual([]);
});

test("in shadow mode the change is recorded and the call made, but nothing is pinned", async () => {
  const { pins, store } = memoryPins();
  store.pinFirst("pay", old);
  const { governor, list, asked, made } = pinned(store, { outcome: "approve", pipeline_mode: "shadow" });
  list(changed);
  governor.fromClient(callOf(1));
  await soon(() => expect(made()).toEqual([callOf(1)]));
  expect([asked().length, pins.get("pay")]).toEqual([1, old]);
});

test("a change is approved as it is or not at all", async () => {
  const { pins, store } = memoryPins();
  store.pinFirst("pay", old);
  const { governor, list, made, said } = pinned(store, { outcome: "approve_modified", modified_content: {} });
  list(changed);
  governor.fromClient(callOf(1));
  await soon(() => expect(said()).toContain("can only be approved as it is"));
  expect([made(), pins.get("pay")]).toEqual([[], old]);
});

test("calls of a tool whose pin cannot be read are refused with the reason until it can be read", async () => {
  const { store } = memoryPins();
  let is_damaged = true;
  const damaged: PinStore = {
    ...store,
    pinFirst(tool, definition) {
      if (is_damaged) throw new Error("the pin is damaged");
      return store.pinFirst(tool, definition);
    },
  };
  const { governor, list, made, said, submitted, notes } = pinned(damaged);
  list(old);
  governor.fromClient(callOf(1));
  await soon(() => expect(said()).toContain("Not decided, so nothing was done: the pin is damaged"));
  expect([submitted, made()]).toEqual([[], []]);
  expect(notes[0]).toContain('calls of "pay" are refused: the pin is damaged');
  is_damaged = false;
  list(old);
  governor.fromClient(callOf(2));
  await soon(() => expect(made()).toEqual([callOf(2)]));
});

test("a pin that was damaged when the tool was listed is compared when it is whole again", async () => {
  const { store } = memoryPins();
  store.pinFirst("pay", old);
  let is_damaged = true;
  const pinFirst: PinStore["pinFirst"] = (...given) => {
    if (is_damaged) throw new Error("the pin is damaged");
    return store.pinFirst(...given);
  };
  const { governor, list, asked, made } = pinned({ ...store, pinFirst });
  list(changed);
  is_damaged = false;
  governor.fromClient(callOf(1));
  await soon(() => expect(asked()).toHaveLength(1));
  expect(made()).toEqual([]);
});

test("calls of a tool whose definition is nested too deep to compare are refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-pins-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { governor, made, said, answers } = pinned(openPinStore(folder, ["server"]));
  governor.fromClient(line({ id: "l", method: "tools/list" }));
  const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
  governor.fromServer(`{"jsonrpc":"2.0","id":"l","result":{"tools":[{"name":"pay","inputSchema":${deep}}]}}`);
  governor.fromClient(callOf(1));
  await soon(() => expect(answers()).toHaveLength(1));
  expect(said()).toContain("Not decided, so nothing was done:");
  expect(made()).toEqual([]);
});

test("a server that changes ever new tools cannot fill the memory: all calls are refused", async () => {
  const { store } = memoryPins();
  const damaged: PinStore = {
    ...store,
    pinFirst() {
      throw new Error("the pin is damaged");
    },
  };
  const { governor, list, said, made } = pinned(damaged);
  list(old);
  governor.fromClient(callOf(1));
  await soon(() => expect(said()).toContain("the pin is damaged"));
  governor.fromClient(line({ id: "l", method: "tools/list" }));
  const tools = Array.from({ length: tools_max }, (_, n) => ({ name: `tool ${n}` }));
  governor.fromServer(line({ id: "l", result: { tools } }));
  governor.fromClient(line({ id: "l", method: "tools/list" }));
  governor.fromServer(line({ id: "l", result: { tools: [{ name: "pay" }] } }));
  governor.fromClient(callOf(2));
  await soon(() => expect(said(1)).toContain("The server changed more than 2000 tools."));
  expect(made()).toEqual([]);
});

test("the end of the connection ends the wait of a question", async () => {
  const { store } = memoryPins();
  store.pinFirst("pay", old);
  const { governor, list, asked, made } = pinned(store);
  list(changed);
  governor.fromClient(callOf(1));
  await soon(() => expect(asked()).toHaveLength(1));
  await governor.end();
  expect([made(), store.read("pay")]).toEqual([[], old]);
});
