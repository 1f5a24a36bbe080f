import type { BlockedTools, BlockedToolsInput } from "@countersign/contract";
import { expect, test } from "vitest";
import { callOf, governed, line, soon } from "../testing/governed.ts";

type Find = (input: BlockedToolsInput) => Promise<BlockedTools["blocked"]>;

/** A client that lists tools; the server answers with `result`, and the service by `find`. */
function listing(find: Find, result: object, terms = {}) {
  const asked: BlockedToolsInput[] = [];
  const findBlockedTools: Find = (input) => {
    asked.push(input);
    return find(input);
  };
  const toServer = (): void => undefined;
  const heard = governed(() => ({ outcome: "block" }), { findBlockedTools, toServer, ...terms });
  heard.governor.fromClient(line({ id: 1, method: "tools/list" }));
  const answer = line({ id: 1, result });
  heard.governor.fromServer(answer);
  return { ...heard, asked, answer };
}

const [pay, look] = [{ name: "pay", inputSchema: { maximum: 1.5 } }, { name: "look" }];
const no_pay = async () => [{ verb: "pay", policy: "no-money" }];

test("leaves always blocked tools out of the list and keeps all else; their calls are still decided", async () => {
  const { governor, toClient, asked, submitted, notes } = listing(
    no_pay,
    { tools: [pay, look], nextCursor: "2", ttlMs: 10, cacheScope: "public" },
    { agent_id: "desk", membrane_id: "mem_1" },
  );
  await soon(() => expect(toClient).toHaveLength(1));
  const result = { tools: [look], nextCursor: "2", ttlMs: 10, cacheScope: "private" };
  expect(toClient).toEqual([line({ id: 1, result })]);
  expect(asked).toEqual([{ agent_id: "desk", membrane_id: "mem_1", verbs: ["pay", "look"] }]);
  expect(notes).toEqual(["hidden tools: pay (no-money)"]);
  governor.fromClient(callOf(2, "pay"));
  await soon(() => expect(submitted).toHaveLength(1));
});

test("a list without blocked tools passes byte for byte, and asks for the client's own name", async () => {
  const { toClient, answer, asked } = listing(async () => [], { tools: [pay, { ...look, n: 1.0 }] });
  await soon(() => expect(toClient).toEqual([answer]));
  expect(asked).toEqual([{ agent_id: "unnamed", verbs: ["pay", "look"] }]);
});

test("if the service gives no answer, the list stays whole and the operator reads why", async () => {
  const { toClient, answer, notes } = listing(() => Promise.reject(new Error("away")), { tools: [pay] });
  await soon(() => expect(toClient).toEqual([answer]));
  expect(notes).toEqual(["no tool is hidden, because it is not known which are always blocked: away"]);
});

test("names that no intent can have are not asked about, and a list without tools asks nothing", async () => {
  const long = listing(async () => [], { tools: [{ name: "n".repeat(129) }, look, null, { name: 1 }] });
  await soon(() => expect(long.toClient).toEqual([long.answer]));
  expect(long.asked).toMatchObject([{ verbs: ["look"] }]);
  const none = listing(no_pay, { tools: "none" });
  await soon(() => expect(none.toClient).toEqual([none.answer]));
  expect(none.asked).toEqual([]);
});

test("shadow mode hides nothing, because it blocks nothing", () => {
  const { toClient, answer, asked } = listing(no_pay, { tools: [pay] }, { mode: "shadow" });
  expect([toClient, asked]).toEqual([[answer], []]);
});
