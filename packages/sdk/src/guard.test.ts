import { type IntentSubmission, limits } from "@countersign/contract";
import { expect, test, vi } from "vitest";
import { detail_chars_max } from "./carry-out.ts";
import { ApiError, type CarryOutOptions, carryOut, createGuard, type GuardOptions } from "./index.ts";

import { answering, decided } from "./testing/answering.ts";

const guardOf = (client: ReturnType<typeof answering>["client"], options: Partial<GuardOptions> = {}) =>
  createGuard(client, { agent: { id: "bot" }, ...options });

test("an approved call runs with its arguments, and is recorded", async () => {
  const { client, submitted, observed } = answering({ outcome: "approve" });
  const pay = guardOf(client).fn("pay", async ({ usd }: { usd: number }, currency: string) => `${usd} ${currency}`);
  expect(await pay({ usd: 5 }, "EUR")).toBe("5 EUR");
  expect(submitted).toEqual([
    {
      intent: { agent: { id: "bot" }, action: { verb: "pay" }, payload: { content: { usd: 5 } } },
      claim: "required",
    },
  ]);
  expect(observed).toEqual([{ status: "executed" }]);
});

test("the submission contains the given context and description of the call", async () => {
  const { client, submitted } = answering({ outcome: "approve" });
  const context = { contract_version: "1", facts: { security: { siem_ref: "x" } } } as const;
  const guard = guardOf(client, {
    membrane_id: "mem_1",
    context: async () => context,
    describe: (verb, { usd }) => ({
      ...{ type: "payment.transfer", target: { identifier: "acc" }, summary: `${verb} ${usd}`, data_classes: ["chd"] },
      estimated_impact: { reversible: false },
    }),
  });
  await guard.fn("pay", (_: { usd: number }) => null)({ usd: 5 });
  expect(submitted).toEqual([
    {
      intent: {
        agent: { id: "bot" },
        action: { verb: "pay", type: "payment.transfer", target: { identifier: "acc" } },
        payload: { content: { usd: 5 }, summary: "pay 5" },
        estimated_impact: { reversible: false },
        data_classes: ["chd"],
      },
      membrane_id: "mem_1",
      context,
      claim: "required",
    },
  ]);
});

test("a call runs with the submitted parameters, even if they change while it waits", async () => {
  const { client, submitted } = answering({ outcome: null, status: "pending" }, { outcome: "approve" });
  const params = { usd: 5, to: { name: "ann" } };
  const context = async () => {
    params.usd = 500;
    return { contract_version: "1", facts: {} } as const;
  };
  const guard = guardOf(client, { context, onPending: () => Object.assign(params.to, { name: "eve" }) });
  const ran = await guard.fn("pay", (given: typeof params) => structuredClone(given))(params);
  expect(ran).toEqual({ usd: 5, to: { name: "ann" } });
  expect(submitted[0]?.intent.payload?.content).toEqual(ran);
  const submission = { intent: { agent: { id: "bot" }, action: { verb: "pay" }, payload: { content: params } } };
  const onPending = () => Object.assign(params, { usd: 9_000 });
  expect(await carryOut(client, submission, ({ usd }) => usd, { onPending })).toBe(500);
});

test.each([
  [{ to: new Set(["eve"]) }, "params.to is an instance of Set"],
  [{ at: [{ when: new Date(0) }] }, "params.at[0].when is an instance of Date"],
  [{ usd: Number.POSITIVE_INFINITY }, "params.usd is Infinity"],
  [{ usd: 5n }, "params.usd is 5"],
  [{ to: ["ann", undefined] }, "params.to[1] is undefined"],
  [{ sendNotification: () => null }, "params.sendNotification is a function"],
  [{ signal: AbortSignal.abort() }, "params.signal is an instance of AbortSignal"],
  [["ann"], "must be an object"],
  ["ann", "must be an object"],
] as [object, string][])("parameters that JSON would change are not submitted: %o", async (params, told) => {
  const { client, submitted } = answering({ outcome: "approve" });
  const run = vi.fn();
  const refused = expect.objectContaining({ name: "TypeError", message: expect.stringContaining(told) });
  await expect(guardOf(client).fn("pay", run)(params)).rejects.toEqual(refused);
  const submission = { intent: { agent: { id: "bot" }, action: { verb: "pay" }, payload: { content: params } } };
  await expect(carryOut(client, submission as IntentSubmission, run)).rejects.toEqual(refused);
  expect(submitted).toEqual([]);
  expect(run).not.toHaveBeenCalled();
});

test("circular parameters are refused; repeated and undefined ones are not", async () => {
  const { client } = answering({ outcome: "approve" });
  const guarded = guardOf(client).fn("pay", (given: object) => given);
  const ann = { name: "ann" };
  const params = { from: ann, to: [ann], cc: undefined, ["__proto__"]: 1 };
  expect(JSON.stringify(await guarded(params))).toBe('{"from":{"name":"ann"},"to":[{"name":"ann"}],"__proto__":1}');
  expect(await guarded(undefined as unknown as object)).toEqual({});
  const round: Record<string, unknown> = {};
  round["self"] = [round];
  await expect(guarded(round)).rejects.toThrow("params.self[0] contains itself");
});

test("a negative zero runs as the decided zero: JSON has one zero, which is equal to both", async () => {
  const { client, submitted } = answering({ outcome: "approve" });
  const params = { usd: -0, steps: [-0, 1] };
  const ran = await guardOf(client).fn("pay", (given: typeof params) => given)(params);
  expect(ran).toEqual({ usd: 0, steps: [0, 1] });
  expect(ran).toEqual(JSON.parse(JSON.stringify(submitted[0]?.intent.payload?.content)));
});

test("a reviewer's message to the agent is passed on before an approved call runs", async () => {
  const { client } = answering({ outcome: "approve", message_to_agent: "Use account 2." });
  const heard: string[] = [];
  const guard = createGuard(client, { agent: { id: "a" }, onMessage: (message) => heard.push(message) });
  await guard.fn("pay", () => heard.push("ran"))({});
  expect(heard).toEqual(["Use account 2.", "ran"]);
});

test("without a decision nothing runs", async () => {
  const { client } = answering({});
  const gone = new ApiError({
    status: 503,
    code: "unavailable",
    message: "",
    details: [],
    request_id: null,
    retry_after_seconds: null,
  });
  const run = vi.fn();
  const guarded = guardOf({ ...client, submitIntent: () => Promise.reject(gone) }).fn("pay", run);
  await expect(guarded({})).rejects.toBe(gone);
  expect(run).not.toHaveBeenCalled();
});

test.each([["abortSignal"], ["signal"], [null]])(
  "a framework's signal ends the wait for reviewers: %s",
  async (name) => {
    const { client } = answering({ outcome: null, status: "pending" }, { outcome: "approve" });
    const run = vi.fn();
    const signal = AbortSignal.abort("stop");
    const waiting = guardOf(client).fn("pay", run)({}, { id: 1 }, name === null ? signal : { [name]: signal });
    await expect(waiting).rejects.toBe("stop");
    expect(run).not.toHaveBeenCalled();
  },
);

test("a call that is aborted while its approval arrives does not run", async () => {
  const controller = new AbortController();
  const { client, observed } = answering({ outcome: null, status: "pending" });
  client.waitForOutcome = vi.fn(async () => {
    controller.abort("late");
    return decided({ outcome: "approve" });
  });
  const run = vi.fn();
  await expect(guardOf(client).fn("pay", run)({}, controller)).rejects.toBe("late");
  expect(run).not.toHaveBeenCalled();
  expect(observed).toEqual([{ status: "skipped" }]);
});

test("an error of a tool is thrown, and recorded as a text that the service accepts", async () => {
  const { client, observed } = answering({ outcome: "approve" });
  const wrong = new Error(`\0\ud800${"x".repeat(5_000)}`);
  await expect(guardOf(client).fn("pay", () => Promise.reject(wrong))({})).rejects.toBe(wrong);
  expect(observed).toEqual([{ status: "failed", detail: `\ufffd\ufffd${"x".repeat(limits.comment_chars_max - 2)}` }]);
  expect(detail_chars_max).toBe(limits.comment_chars_max);
});

test.each([
  ["an error whose message is no text", Object.assign(new Error(), { message: { code: 5 } }), "[object Object]"],
  ["an error without a message", Object.assign(new Error(), { message: undefined }), "undefined"],
  ["what no text can be made of", Object.create(null), "the thrown value cannot be converted to text"],
])("%s is thrown unchanged, and recorded", async (_, wrong: unknown, detail) => {
  const { client, observed } = answering({ outcome: "approve" });
  const thrown = await guardOf(client)
    .fn("pay", () => Promise.reject(wrong))({})
    .catch((error: unknown) => error);
  expect(thrown).toBe(wrong);
  expect(observed).toEqual([{ status: "failed", detail }]);
});

test("a result that reports a failure is returned, and recorded as one; a failed recording is reported", async () => {
  const { client, observed } = answering({ outcome: "approve" });
  const submission: IntentSubmission = { intent: { agent: { id: "bot" }, action: { verb: "pay" } } };
  const options: CarryOutOptions<string> = { failureOf: (result) => (result === "no" ? "refused" : null) };
  expect(await carryOut(client, submission, (content) => JSON.stringify(content), options)).toBe("{}");
  expect(await carryOut(client, submission, () => "no", options)).toBe("no");
  const unable = { failureOf: () => (undefined as never as string).trim() };
  expect(await carryOut(client, submission, () => "done", unable)).toBe("done");
  expect(observed).toEqual([
    { status: "executed" },
    { status: "failed", detail: "refused" },
    { status: "executed", detail: expect.stringMatching(/^Could not tell whether it failed: .*undefined/) },
  ]);
  const lost = new Error("lost");
  const deaf = { ...client, recordObservation: () => Promise.reject(lost) };
  const onUnrecorded = vi.fn();
  await carryOut(deaf, submission, () => "", { onUnrecorded });
  await vi.waitFor(() => expect(onUnrecorded).toHaveBeenCalledWith(lost, "int_1"));
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  await carryOut(deaf, submission, () => "");
  await vi.waitFor(() => expect(warned).toHaveBeenCalledWith(expect.stringContaining("int_1"), lost));
  const wrong = new Error("onUnrecorded itself");
  onUnrecorded.mockThrow(wrong);
  await carryOut(deaf, submission, () => "", { onUnrecorded });
  await vi.waitFor(() => expect(warned).toHaveBeenCalledWith(expect.stringContaining("int_1"), wrong));
  warned.mockRestore();
});

test("tools of a framework keep their members, with guarded functions and `this`", async () => {
  const { client, submitted } = answering({ outcome: "approve" });
  const tools = {
    pay: {
      description: "pays",
      fee: 1,
      async execute({ usd }: { usd: number }, _options?: object) {
        return usd + this.fee;
      },
    },
  };
  const guarded = guardOf(client).tools(tools);
  expect(guarded.pay.description).toBe("pays");
  expect(await guarded.pay.execute({ usd: 5 }, {})).toBe(6);
  expect(submitted[0]?.intent.action.verb).toBe("pay");
  expect(await tools.pay.execute({ usd: 5 })).toBe(6);
  expect(submitted).toHaveLength(1);
});

test("a tool that is an instance of a class keeps its methods", async () => {
  class Tool {
    fee = 1;
    execute({ usd }: { usd: number }) {
      return usd + this.fee;
    }
    needsApproval() {
      return this.fee > 0;
    }
  }
  const { pay } = guardOf(answering({ outcome: "approve" }).client).tools({ pay: new Tool() });
  expect(pay.needsApproval()).toBe(true);
  expect(pay).toBeInstanceOf(Tool);
  expect(await pay.execute({ usd: 5 })).toBe(6);
});

test("a function that a method of a guarded tool executes is guarded, and runs with the tool's #private members", async () => {
  class Tool {
    #fee = 1;
    execute({ usd }: { usd: number }) {
      return usd + this.#fee;
    }
    again({ usd }: { usd: number }) {
      return this.execute({ usd });
    }
  }
  const { client, submitted } = answering({ outcome: "approve" });
  const { pay } = guardOf(client).tools({ pay: new Tool() });
  expect(await pay.again({ usd: 5 })).toBe(6);
  expect(submitted).toHaveLength(1);
});

test("frozen tools are guarded, too", async () => {
  const { client, submitted } = answering({ outcome: "approve" });
  const { pay } = guardOf(client).tools({ pay: Object.freeze({ execute: async ({ usd }: { usd: number }) => usd }) });
  expect(await pay.execute({ usd: 5 })).toBe(5);
  expect(submitted).toHaveLength(1);
});

test.each(["a generator", "what a compiler makes of one", "a stream", "what begins when it is read"])(
  "a function that returns its result in parts fails before its first part: %s",
  async (how) => {
    const { client, observed } = answering({ outcome: "approve" });
    const begun = vi.fn();
    async function* parts() {
      yield begun();
    }
    const compiled = () => ({
      next: async () => ({ done: true, value: begun() }),
      return: async () => ({ done: true, value: undefined }),
      throw: async () => ({ done: true, value: undefined }),
      [Symbol.asyncIterator]() {
        return this;
      },
    });
    const made: Record<string, () => object> = {
      "a generator": parts,
      "what a compiler makes of one": compiled,
      "a stream": () => new ReadableStream({ pull: begun }, { highWaterMark: 0 }),
      "what begins when it is read": () => ({ [Symbol.asyncIterator]: parts }),
    };
    await expect(guardOf(client).fn("pay", () => made[how]?.())({})).rejects.toThrow("pay returns its result in parts");
    expect(begun).not.toHaveBeenCalled();
    expect(observed).toEqual([{ status: "failed", detail: expect.stringContaining("in parts") }]);
  },
);

test("a tool that cannot be guarded is refused", () => {
  const guard = guardOf(answering({}).client);
  expect(() => guard.tools({ elsewhere: { description: "runs in a browser" } as object })).toThrow(
    "elsewhere has no function",
  );
  expect(() => guard.tools({ parts: { async *execute() {} } })).toThrow("parts returns its result in parts");
  expect(() => guard.fn("parts", function* () {} as never)).toThrow("in parts");
});

test.each([
  [true, ["esc_1"]],
  [undefined, []],
])("the caller that ends the wait withdraws the action, if requested (%s)", async (withdraw, ids) => {
  const ending = new AbortController();
  const { client, withdrawn } = answering({ outcome: null, status: "pending", escalation_id: "esc_1" });
  const run = vi.fn();
  const guard = guardOf(client, { withdraw, onPending: () => ending.abort(new Error("the user left")) });
  await expect(guard.fn("pay", run)({ usd: 5 }, { signal: ending.signal })).rejects.toThrow("the user left");
  expect(withdrawn).toEqual(ids);
  expect(run).not.toHaveBeenCalled();
});
