/** Source: revision 2025-11-25, and the extension io.modelcontextprotocol/tasks of 2026-07-28. */
import { expect, test } from "vitest";
import type { Answering } from "../testing/fake-service.ts";
import { fakeService } from "../testing/fake-service.ts";
import { governed, line, soon } from "../testing/governed.ts";

const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
const changing: Answering = () => ({ outcome: "approve_modified", modified_content: { n: 0 } });

/** Plays a call that the server answered with a task: in the new form (`typed`), or in that of 2025-11-25. */
async function begun(typed: boolean, { state = {}, answering }: { state?: object; answering?: Answering } = {}) {
  const service = fakeService(answering);
  const made = governed(undefined, { client: service.client });
  const params = { name: "pay", arguments: { n: 1 }, ...(typed ? { _meta } : { task: {} }) };
  made.governor.fromClient(line({ id: 1, method: "tools/call", params }));
  await soon(() => expect(made.toServer).toHaveLength(1));
  const task = { taskId: "t", status: "working", ...state };
  made.governor.fromServer(line({ id: 1, result: typed ? { resultType: "task", ...task } : { task } }));
  await soon(() => expect(made.toClient).toHaveLength(1));
  let id = 1;
  const asked = (method: string, result: object, taskId = "t") => {
    id += 1;
    made.governor.fromClient(line({ id, method, params: { taskId } }));
    made.governor.fromServer(line({ id, result }));
    return JSON.parse(made.toClient.at(-1) ?? "").result;
  };
  return { ...made, ...service, asked };
}

test.each([
  [true, "tasks/get", { status: "completed", result: { content: [] } }, "executed"],
  [true, "tasks/get", { status: "completed", result: { content: [], isError: true } }, "failed"],
  [true, "tasks/get", { status: "failed", error: { code: 1, message: "no" } }, "failed"],
  [true, "tasks/get", { status: "cancelled" }, "failed"],
  [false, "tasks/get", { taskId: "t", status: "completed" }, "executed"],
  [false, "tasks/get", { taskId: "t", status: "failed" }, "failed"],
  [false, "tasks/cancel", { taskId: "t", status: "cancelled" }, "failed"],
  [false, "tasks/result", { content: [] }, "executed"],
  [false, "tasks/result", { content: [], isError: true }, "failed"],
] as const)("a task is recorded once, at its end (typed: %s): %s %j is %s", async (typed, method, result, outcome) => {
  const { asked, observed, governor } = await begun(typed);
  asked("tasks/get", { status: "working" });
  asked("tasks/get", { status: "input_required" });
  asked("tasks/get", { status: "completed" }, "another");
  expect(observed).toEqual([]);
  asked(method, result);
  asked("tasks/get", { status: "completed" });
  await governor.end();
  expect(observed).toMatchObject([{ intent_id: "int_1", status: outcome }]);
});

test.each(["notifications/tasks", "notifications/tasks/status"])(
  "a task ends with a notification, too: %s",
  async (method) => {
    const { governor, observed, toClient } = await begun(true, { answering: changing });
    governor.fromServer(line({ method, params: { taskId: "t", status: "working" } }));
    const params = { taskId: "t", status: "completed", result: { content: [] } };
    governor.fromServer(line({ method, params }));
    await soon(() => expect(observed).toEqual([{ intent_id: "int_1", status: "executed" }]));
    expect(JSON.parse(toClient.at(-1) ?? "").params.result.content[0].text).toContain("Countersign changed this call");
  },
);

test("a task that is complete when the server creates it is recorded at once", async () => {
  const { observed } = await begun(false, { state: { status: "completed" } });
  await soon(() => expect(observed).toEqual([{ intent_id: "int_1", status: "executed" }]));
});

test("the result of a task in `tasks/get` reports a change, each time", async () => {
  const { asked } = await begun(true, { answering: changing });
  const working = { status: "working" };
  expect(asked("tasks/get", working)).toEqual(working);
  for (let n = 0; n < 2; n += 1) {
    const { status, result } = asked("tasks/get", { status: "completed", result: { content: [] } });
    expect([status, result.content[0].text]).toEqual(["completed", expect.stringContaining("changed this call")]);
  }
});

test("nothing is recorded for a task whose end the proxy does not see", async () => {
  const { governor, observed } = await begun(true);
  governor.fromClient(line({ id: 9, method: "tasks/result", params: { taskId: "t" } }));
  governor.fromServer(line({ id: 9, error: { code: -32_603, message: "away" } }));
  await governor.end();
  expect(observed).toEqual([]);
});

test("a call becomes a task after a round, and stays one action", async () => {
  const service = fakeService();
  const { governor, toServer, toClient } = governed(undefined, { client: service.client });
  const call = (id: number, more: object) =>
    governor.fromClient(line({ id, method: "tools/call", params: { name: "pay", _meta, ...more } }));
  call(1, {});
  await soon(() => expect(toServer).toHaveLength(1));
  governor.fromServer(line({ id: 1, result: { resultType: "input_required", requestState: "s" } }));
  await soon(() => expect(toClient).toHaveLength(1));
  call(2, { requestState: JSON.parse(toClient[0] ?? "").result.requestState });
  await soon(() => expect(toServer).toHaveLength(2));
  governor.fromServer(line({ id: 2, result: { resultType: "task", taskId: "t", status: "working" } }));
  await soon(() => expect(toClient).toHaveLength(2));
  expect(service.observed).toEqual([]);
  governor.fromClient(line({ id: 3, method: "tasks/get", params: { taskId: "t" } }));
  governor.fromServer(line({ id: 3, result: { status: "completed", result: { content: [] } } }));
  await soon(() => expect(service.observed).toEqual([{ intent_id: "int_1", status: "executed" }]));
  expect(service.submitted).toHaveLength(1);
});
