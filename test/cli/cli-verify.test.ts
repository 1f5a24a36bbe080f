import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";

interface Vector {
  readonly receipt: string;
  readonly keys: readonly string[];
  readonly known?: { readonly checkpoint: string; readonly proof: readonly string[] };
  readonly proved: readonly string[];
  readonly not_proved: readonly string[];
}

let vectors: readonly Vector[];
let directory: string;
beforeAll(async () => {
  vectors = JSON.parse(await readFile(join(import.meta.dirname, "../evidence/vectors/receipts.json"), "utf8"));
  directory = await mkdtemp(join(tmpdir(), "countersign-verify-"));
  return () => rm(directory, { recursive: true, force: true });
});

async function file(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

const [reviewed, compared] = [1, 3];

test("says yes, what is proved, what is not, and what was recorded, with exit code 0", async () => {
  const { receipt, keys, proved, not_proved } = vectors[reviewed] as Vector;
  const path = await file("receipt.json", receipt);
  const listed = await file("keys.txt", `${keys.join("\r\n")}\n`);
  const { code, stdout, stderr } = await runCli(["verify", path, "--key", listed]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^YES: this is a genuine receipt of int_01KA/);
  for (const line of [...proved, ...not_proved]) expect(stdout).toContain(`  - ${line}\n`);
  expect(stdout).toContain('the agent "zähler "7"" asked for "send_money" (payment.transfer)');
  expect(stdout).toContain('a reviewer voted: outcome "approve", comment "checked by phone". By usr_01KA');

  const table = ["VERIFIER KEY  CREATED  SIGNS UNTIL", ...keys.map((key) => `${key}  2026-11-30T02:07:02Z`), ""];
  const printed = await file("printed.txt", table.join("\n"));
  expect((await runCli(["verify", path, "--key", printed])).stdout).toBe(stdout);

  const as_json = await runCli(["verify", path, ...keys.flatMap((key) => ["--key", key]), "--json"]);
  expect(as_json.code).toBe(0);
  expect(JSON.parse(as_json.stdout)).toMatchObject({ ok: true, proved, not_proved });
});

test("says no with the reason, and exit code 1", async () => {
  const { receipt, keys } = vectors[reviewed] as Vector;
  const path = await file("forged.json", receipt.replace("checked by phone", "checked by fax"));
  const args = ["verify", path, "--key", keys[1] as string];
  const { code, stdout, stderr } = await runCli(args);
  expect([code, stderr]).toEqual([1, ""]);
  expect(stdout).toBe('NO: the document "data" of entry 6 is not the one that the log holds (check: document)\n');
  const as_json = await runCli([...args, "--json"]);
  expect([as_json.code, JSON.parse(as_json.stdout)]).toEqual([
    1,
    expect.objectContaining({ ok: false, check: "document", entry: 6 }),
  ]);
});

test("compares with a checkpoint that the user knows", async () => {
  const { receipt, keys, known, proved } = vectors[compared] as Vector;
  const path = await file("compared.json", receipt);
  const checkpoint = await file("checkpoint.txt", known?.checkpoint ?? "");
  const proof = await file("proof.txt", known?.proof.join("\n") ?? "");
  const args = ["verify", path, "--key", keys[0] as string, "--known", checkpoint];
  const { code, stdout } = await runCli([...args, "--proof", proof]);
  expect([code, stdout]).toEqual([0, expect.stringContaining(proved.at(-1) as string)]);
  const other = await file("other-proof.txt", `${known?.proof.slice(1).join("\n")}\n`);
  expect(await runCli([...args, "--proof", other])).toMatchObject({ code: 1 });
  expect(await runCli(args)).toMatchObject({ code: 2, stderr: "countersign: give --known and --proof together\n" });
});

test("exits with 2 if an option or a file is wrong, and prints nothing on standard output", async () => {
  const { receipt, keys } = vectors[0] as Vector;
  const path = await file("single.json", receipt);
  for (const args of [
    [],
    [path],
    [path, "--key", "a+b+c"],
    [path, "--key", join(directory, "none")],
    ["none", "--key", keys[0] as string],
    [path, "--kye", "x"],
  ])
    expect(await runCli(["verify", ...args])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/./),
    });
});
