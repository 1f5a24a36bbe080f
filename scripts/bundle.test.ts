import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const entries = {
  "packages/cli/src/index.ts": `export const run = async (): Promise<string> => (await import("./later.ts")).text;`,
  "packages/server/src/index.ts": "export const server = 1;",
  "packages/server/src/edge/start/record-packs.ts": "export const recordPacks = 1;",
  "packages/server/src/edge/threads/backtest-thread.ts": "",
  "packages/server/src/edge/threads/delivery-thread.ts": "",
};

function repository() {
  const dir = mkdtempSync(join(tmpdir(), "bundle-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  };
  for (const [name, text] of Object.entries(entries)) write(name, text);
  write("package.json", JSON.stringify({ type: "module" }));
  mkdirSync(join(dir, "scripts"));
  cpSync(join(root, "scripts/bundle.mjs"), join(dir, "scripts/bundle.mjs"));
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  const program = join(dir, "packages/cli/dist/program");
  const bundle = () => spawnSync(process.execPath, [join(dir, "scripts/bundle.mjs")], { encoding: "utf8" });
  /** Builds with this text in a lazily loaded chunk. Returns that chunk. */
  const chunkWith = (text: string) => {
    write("packages/cli/src/later.ts", `export const text: string = ${JSON.stringify(text)};`);
    const before = existsSync(program) ? readdirSync(program) : [];
    expect(bundle()).toMatchObject({ status: 0, stderr: "" });
    const [chunk] = readdirSync(program).filter((name) => name.startsWith("chunk-") && !before.includes(name));
    return join(program, chunk as string);
  };
  const runs = () => {
    const script = `console.log(await (await import(${JSON.stringify(join(program, "countersign.js"))})).run())`;
    return spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }).stdout.trim();
  };
  return { write, bundle, chunkWith, runs };
}

test("chunks of a running service stay for one more build; all stay if the list of files is incomplete", () => {
  const { write, chunkWith, runs } = repository();
  const build = (text: string) => {
    const chunk = chunkWith(text);
    expect(runs()).toBe(text);
    return chunk;
  };
  const chunks = ["one", "two", "three"].map(build);
  expect(chunks.map((chunk) => existsSync(chunk))).toEqual([false, true, true]);
  write("packages/cli/dist/program/made.json", "");
  chunks.push(build("four"));
  expect(chunks.map((chunk) => existsSync(chunk))).toEqual([false, true, true, true]);
});

test("a source that cannot be built fails the build and is named", () => {
  const { write, bundle } = repository();
  write("packages/server/src/index.ts", "export const = 1;");
  const { status, stderr } = bundle();
  expect(status).toBe(1);
  expect(stderr).toContain("packages/server/src/index.ts:1:13");
});

test("the banner before the bundled modules uses no name that a module could use", () => {
  const { write, bundle, runs } = repository();
  const script = readFileSync(join(root, "scripts/bundle.mjs"), "utf8");
  const banner = /const banner = `([^`]*)`/.exec(script)?.[1] ?? "";
  const names = Array.from(banner.matchAll(/ as (\S+) \}/g), ([, name]) => name as string);
  expect(names).toHaveLength(3);
  expect(names.filter((name) => !name.startsWith("banner$"))).toEqual([]);
  const own = names.map((name) => name.replace("banner$", ""));
  const later = `${own.map((name) => `const ${name}: string = "${name}";`).join("\n")}
    export const text: string = [${own.join(", ")}].join(" ");`;
  write("packages/cli/src/later.ts", later);
  expect(bundle()).toMatchObject({ status: 0, stderr: "" });
  expect(runs()).toBe(own.join(" "));
});
