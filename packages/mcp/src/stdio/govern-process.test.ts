import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { LineTooLong } from "../protocol/json-lines.ts";
import { fakeService, governorTerms } from "../testing/fake-service.ts";
import { governProcess } from "./govern-process.ts";

function serving(program: string, patience_ms = 60_000) {
  const input = new PassThrough();
  const output = new PassThrough();
  const ending = new AbortController();
  const { client, observed } = fakeService();
  const code = governProcess({
    ...{ ...governorTerms, client, patience_ms },
    ...{ command: process.execPath, args: ["-e", program], env: { PATH: process.env["PATH"] } },
    ...{ input, output, signal: ending.signal, note: () => undefined },
  });
  return { input, output, ending, code, observed };
}

const large = `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/x", params: { text: "x".repeat(500_000) } })}\n`;

const warnings: Error[] = [];
const hear = (warning: Error) => warnings.push(warning);
afterEach(() => void process.off("warning", hear));

test("reports the exit code of a server that ends while the client still sends", async () => {
  const { input, output, code } = serving('console.log("{}"); setTimeout(() => process.exit(7), 300)');
  output.once("data", () => input.write(large));
  expect(await code).toBe(7);
});

test("ends a server whose answer exceeds the message limit, and records the outcome of its call", async () => {
  const { input, code, observed } = serving(
    `const list = '{"jsonrpc":"2.0","id":"countersign-1","result":{"tools":[{"name":"pay"}]}}\\n';
    process.stdin.once("data", () => {
      process.stdout.write(list);
      process.stdin.once("data", () => process.stdout.write("x".repeat(65 * 1_048_576)));
    });
    setInterval(() => 0, 1000);`,
  );
  input.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay"}}\n');
  await expect(code).rejects.toThrow(LineTooLong);
  expect(observed).toMatchObject([{ status: "failed" }]);
});

test("leaves no listener behind after each wait for a slow server", async () => {
  process.on("warning", hear);
  const { input, code } = serving("process.stdin.resume().on('end', () => process.exit(0))");
  for (let n = 0; n < 100; n++) input.write(large);
  input.end();
  expect(await code).toBe(0);
  expect(warnings).toEqual([]);
});

test("stops reading a client that writes and does not read, and reads on later", async () => {
  const { input, output, code } = serving("process.stdin.resume().on('end', () => process.exit(0))");
  const refused = { jsonrpc: "2.0", id: "x".repeat(500_000), method: "tools/call", params: { name: 7 } };
  for (let n = 0; n < 60; n++) input.write(`${JSON.stringify(refused)}\n`);
  input.end();
  let before = -1;
  await vi.waitFor(() => {
    const [was, now] = [before, output.writableLength];
    before = now;
    expect(now).toBeGreaterThan(0);
    expect(now).toBe(was);
  }, 60_000);
  expect(output.writableLength).toBeLessThan(18 * 1_048_576);
  let told = 0;
  output.on("data", (chunk: Buffer) => {
    told += chunk.toString().split("\n").length - 1;
  });
  expect(await code).toBe(0);
  await vi.waitFor(() => expect(told).toBe(60));
});

test("notices the end of a client, even if its server has read nothing", async () => {
  const { input, output, code } = serving("setInterval(() => 0, 1000); console.log('{}')", 100);
  output.once("data", () => {
    for (let n = 0; n < 8; n++) input.write(large);
    input.end();
  });
  expect(await code).toBe(128 + 15);
});

test("ends a server that ignores the request to end", async () => {
  const { output, ending, code } = serving(
    "process.on('SIGTERM', () => 0); setInterval(() => 0, 1000); console.log('{}')",
    100,
  );
  output.once("data", () => ending.abort());
  expect(await code).toBe(128 + 9);
});

test("notices the end of a server, even if another process still holds its output", async () => {
  const program = `
    const { spawn } = require("node:child_process");
    const { pid } = spawn(process.execPath, ["-e", "setTimeout(() => 0, 60000)"], { stdio: "inherit" });
    console.log(JSON.stringify({ pid }));
    setTimeout(() => process.exit(3), 200);`;
  const { output, code } = serving(program, 100);
  let pid = 0;
  output.once("data", (chunk) => {
    pid = JSON.parse(String(chunk)).pid;
  });
  try {
    expect(await code).toBe(3);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});

test("reports a server that ends during a call to the model, and the outcome to the service", async () => {
  const program = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (method === "tools/call") process.exit(3);
    console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [{ name: "pay" }] } }));
  })`;
  const { input, output, code, observed } = serving(program);
  const heard: string[] = [];
  output.on("data", (said) => heard.push(String(said)));
  input.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "pay" } })}\n`);
  expect(await code).toBe(3);
  expect(JSON.parse(heard.join(""))).toMatchObject({
    id: 1,
    result: { isError: true, content: [{ text: expect.stringContaining("Find out whether the call was executed") }] },
  });
  expect(observed).toMatchObject([{ status: "failed" }]);
});
