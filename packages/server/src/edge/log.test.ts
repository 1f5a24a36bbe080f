import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { createLog, onceATurn, scrub } from "./log.ts";

function captured() {
  const lines: string[] = [];
  return { lines, log: createLog("info", { write: (line: string) => void lines.push(line) }) };
}
const key = `svc_live_org_${"a1B2".repeat(9)}Zz`;

describe("the log", () => {
  test("writes one JSON line with level, time, message and fields", () => {
    const { lines, log } = captured();
    log.info({ request_id: "req_1" }, "request answered");
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "info", msg: "request answered", request_id: "req_1" });
    expect(JSON.parse(lines[0] ?? "").time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  test.each(["err", "error"])("writes the text of an error under %s, without the objects attached to it", (name) => {
    const { lines, log } = captured();
    const client: { self?: object } = {};
    client.self = client;
    const cause = new AggregateError([Object.assign(new Error("one"), { code: "E1" })], "all");
    log.error({ [name]: Object.assign(new Error("lost", { cause }), { code: "57P01", client }) }, "x");
    log.error({ [name]: cause }, "x");
    expect(lines.map((line) => JSON.parse(line)[name])).toEqual([
      { type: "Error", message: "lost: all", code: "57P01", stack: expect.stringContaining("log.test.ts") },
      expect.objectContaining({ message: "all", errors: [expect.objectContaining({ message: "one", code: "E1" })] }),
    ]);
  });

  test("omits lines below the level", () => {
    const { lines, log } = captured();
    log.debug({}, "detail");
    expect(lines).toEqual([]);
  });

  test("redacts fields named like a secret, at the top and inside", () => {
    const { lines, log } = captured();
    log.warn(
      { api_key: "k-1", request: { headers: { "agent-token": "k-2", cookie: "k-3" } }, smtp: { password: "k-4" } },
      "x",
    );
    expect(lines[0]).not.toMatch(/k-\d/);
    expect(lines[0]?.match(/"\*\*\*"/g)).toHaveLength(4);
  });

  test("does not change the fields that it gets", () => {
    const { log } = captured();
    const fields = { request: { headers: { cookie: "k-3" } } };
    log.warn(fields, "x");
    expect(fields).toEqual({ request: { headers: { cookie: "k-3" } } });
  });

  test("redacts keys, webhook secrets and URL passwords inside prose, messages and causes", () => {
    const { lines, log } = captured();
    const cause = new Error(`connecting postgres://app:hunter2@db/x`);
    log.error({ error: new Error(`bad key ${key}`, { cause }), note: `whsec_${"QUJD".repeat(10)}=` }, `saw ${key}`);
    expect(lines[0]).not.toContain(key);
    expect(lines[0]).not.toContain("hunter2");
    expect(lines[0]).not.toContain("QUJD");
    expect(lines[0]).toContain("svc_live_org_***");
    expect(() => JSON.parse(lines[0] ?? "")).not.toThrow();
  });

  test("redacts tokens inside prose", () => {
    const jwt = `eyJ${"a1".repeat(9)}.eyJ${"b2".repeat(9)}.${"c3".repeat(20)}`;
    expect(scrub(`"saw ${jwt} here"`)).toBe('"saw eyJ*** here"');
  });

  test("does not change ordinary text, addresses and ids", () => {
    const text =
      '{"url":"https://example.com/a@b","at":"10:20","key_id":"key_01HF7YAT3V0123456789ABCDEF","svc_live_org_":1}';
    expect(scrub(text)).toBe(text);
  });

  test("a full disk loses only the lines without room: the next line is not joined to a half-written one", async () => {
    const disk = { text: "", room: 8 };
    const write = ((text: string, done: (error: Error | null) => void) => {
      disk.text += text.slice(0, disk.room);
      const error = text.length > disk.room ? new Error("ENOSPC: no space left on device, write") : null;
      process.nextTick(done, error);
    }) as NodeJS.WriteStream["write"];
    const log = createLog("info", onceATurn({ write }));
    const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
    log.info({}, "no room");
    await turn();
    disk.room = Number.POSITIVE_INFINITY;
    for (const line of ["first", "second"]) {
      log.info({}, line);
      await turn();
    }
    expect(disk.text.split("\n").map((line) => /"msg":"(\w+)"}$/.exec(line)?.[1])).toEqual([
      undefined,
      "first",
      "second",
      undefined,
    ]);
  });

  test("a blocked reader gets a limited number of lines, and then the number of dropped ones", async () => {
    const taken: string[] = [];
    let goOn = () => {};
    const standing = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const write = (text: string, _encoding: string, done: () => void) => {
      taken.push(text);
      void standing.then(() => done());
    };
    const pipe = new Writable({ decodeStrings: false, write });
    const log = createLog("info", onceATurn(pipe));
    const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
    const waiting: number[] = [];
    for (let line = 0; line < 40; line += 1) {
      log.info({ line, text: "x".repeat(1024 * 1024) }, "long");
      await turn();
      waiting.push(pipe.writableLength);
    }
    expect(Math.max(...waiting)).toBeLessThan(20 * 1024 * 1024);
    goOn();
    await expect.poll(() => pipe.writableLength).toBe(0);
    log.info({}, "read again");
    await turn();
    const lines = taken
      .join("")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const kept = lines.filter(({ msg }) => msg === "long").length;
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(lines.slice(kept)).toEqual([
      { level: "warn", time, lines: 40 - kept, msg: "lines were dropped here: the log was not read fast enough" },
      { level: "info", time, msg: "read again" },
    ]);
  });
});
