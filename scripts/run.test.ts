import { spawn } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readFile, realpath, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";

const script = fileURLToPath(new URL("run.mjs", import.meta.url));
const locked = {
  "": {},
  "packages/a": {},
  "node_modules/a": { link: true, resolved: "packages/a" },
  "node_modules/b": { version: "1.0.0" },
};
const recorder = (name: string, rest = "") =>
  `require("node:fs").appendFileSync(${JSON.stringify("ran")}, ${JSON.stringify(`${name} `)} + process.argv.slice(2).join(" ") + "\\n");${rest}`;

/** Creates a checkout with stand-ins for npm, tsc, vitest and the program, which record their calls. */
async function checkout(overrides: Record<string, string | null> = {}) {
  // In a URL, `#` and `%41` have another meaning.
  const dir = await realpath(await mkdtemp(join(tmpdir(), "run C# 100%41 ")));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const files: Record<string, string | null> = {
    "package.json": JSON.stringify({ type: "commonjs" }),
    "package-lock.json": JSON.stringify({ packages: locked }),
    "node_modules/.package-lock.json": JSON.stringify({ packages: locked }),
    "node_modules/typescript/bin/tsc": recorder("tsc"),
    "node_modules/vitest/vitest.mjs": `import { createRequire } from "node:module"; const require = createRequire(import.meta.url); ${recorder("vitest")}`,
    "packages/cli/bin/countersign.js": recorder("countersign"),
    "npm.js": recorder("npm"),
    ...overrides,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    if (text !== null) await writeFile(join(dir, name), text);
  }
  await mkdir(join(dir, "scripts"), { recursive: true });
  await copyFile(script, join(dir, "scripts/run.mjs"));
  const required_node = "packages/cli/bin/required-node.mjs";
  await copyFile(fileURLToPath(new URL(`../${required_node}`, import.meta.url)), join(dir, required_node));
  let user = {};
  const start = (...args: string[]) =>
    spawn(process.execPath, ["scripts/run.mjs", ...args], {
      ...user,
      cwd: dir,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, npm_execpath: join(dir, "npm.js") },
    });
  const run = async (...args: string[]) => {
    const child = start(...args);
    let output = "";
    child.stderr.on("data", (chunk) => {
      output += chunk;
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    return {
      code,
      output: output.trim(),
      ran: (await readFile(join(dir, "ran"), "utf8").catch(() => "")).trim().split("\n"),
    };
  };
  const write = (name: string, text: string) => writeFile(join(dir, name), text);
  const remove = (name: string) => rm(join(dir, name));
  const age = (name: string, seconds: number) => utimes(join(dir, name), 0, Date.now() / 1_000 - seconds);
  const protect = async () => {
    await write("ran", "");
    await chmod(join(dir, "ran"), 0o666);
    await chmod(dir, 0o555);
    onTestFinished(() => chmod(dir, 0o755));
    // Root may write everywhere, so another user runs the programs.
    if (process.getuid?.() === 0) user = { uid: 65_534, gid: 65_534 };
  };
  return { run, start, write, remove, age, protect };
}

const ci = "npm ci --ignore-scripts --include=dev --include=optional --no-audit --no-fund --loglevel=error";

describe("npm start", () => {
  test("builds and serves without installing when everything is installed", async () => {
    const { run } = await checkout();
    expect(await run("start", "--port", "0")).toEqual({
      code: 0,
      output: "",
      ran: ["tsc -b", "countersign serve --port 0"],
    });
  });

  test("builds the console if and only if its sources have changed since the last build", async () => {
    const { run, write } = await checkout({
      "node_modules/vite/bin/vite.js": recorder(
        "vite",
        `const { mkdirSync, writeFileSync } = require("node:fs"); mkdirSync("packages/console/dist", { recursive: true });
         writeFileSync("packages/console/dist/index.html", "");`,
      ),
      "packages/console/index.html": "<title>1</title>",
      "packages/console/src/main.tsx": "1",
    });
    const vite = expect.stringMatching(/^vite build --logLevel=warn .*packages\/console$/);
    expect((await run("build")).ran).toEqual(["tsc -b", vite]);
    expect((await run("build")).ran).toEqual(["tsc -b", vite, "tsc -b"]);
    await write("packages/console/src/main.tsx", "2");
    expect((await run("start")).ran).toEqual(["tsc -b", vite, "tsc -b", "tsc -b", vite, "countersign serve"]);
  });

  test("builds the program if its sources or its libraries have changed, and again after an interrupted build", async () => {
    const sources = { "packages/server/src/index.ts": "1", "packages/server/src/index.test.ts": "1" };
    const made = "packages/cli/dist/program";
    const bundler = (rest: string) =>
      `import { createRequire } from "node:module"; const require = createRequire(import.meta.url); ${recorder("bundle")}${rest}`;
    const whole = bundler(
      `const { mkdirSync, writeFileSync } = require("node:fs"); mkdirSync("${made}", { recursive: true });
       writeFileSync("${made}/record-packs.js", "exports.recordPacks = () => undefined;");`,
    );
    const { run, write, remove } = await checkout({ ...sources, "scripts/bundle.mjs": whole });
    const bundles = async () => (await run("build")).ran.filter((line) => line.startsWith("bundle")).length;
    expect(await bundles()).toBe(1);
    await write("packages/server/src/index.test.ts", "2");
    expect(await bundles()).toBe(1);
    await write("packages/server/src/index.ts", "2");
    expect(await bundles()).toBe(2);
    await write("package-lock.json", JSON.stringify({ packages: locked, lockfileVersion: 3 }));
    expect(await bundles()).toBe(3);

    await write("packages/server/src/index.ts", "3");
    await write("scripts/bundle.mjs", bundler("process.exit(9);"));
    expect(await run("build")).toMatchObject({
      code: 9,
      output: expect.stringContaining("the build of the program (esbuild) failed (exit code 9)"),
    });
    // The sources are unchanged, but the interrupted build may have changed the result.
    await write("packages/server/src/index.ts", "2");
    await write("scripts/bundle.mjs", whole);
    expect(await bundles()).toBe(5);
    // Removed by hand, except for a file that is not checked.
    await remove(`${made}/record-packs.js`);
    expect(await bundles()).toBe(6);
  });

  test("installs first in a fresh clone", async () => {
    const { run } = await checkout({ "node_modules/.package-lock.json": null });
    expect((await run("start")).ran).toEqual([ci, "tsc -b", "countersign serve"]);
  });

  test("lets one of two concurrent runs in a fresh clone install while the other waits", async () => {
    const installing = `const { writeFileSync, existsSync } = require("node:fs"); const wait = setInterval(() => {
      if (!existsSync("go")) return;
      writeFileSync("node_modules/.package-lock.json", '${JSON.stringify({ packages: locked })}');
      clearInterval(wait);
    }, 20);`;
    const { run, start, write } = await checkout({
      "node_modules/.package-lock.json": null,
      "npm.js": recorder("npm", installing),
    });
    const both = [start("start"), start("build")];
    onTestFinished(() => void both.map((each) => each.kill()));
    const codes = both.map((each) => new Promise((resolve) => each.once("close", resolve)));
    let said = "";
    for (const each of both) {
      each.stderr.on("data", (chunk) => {
        said += chunk;
      });
    }
    await vi.waitFor(() => expect(said).toContain("waiting for another start that installs and builds"), 30_000);
    await write("go", "");
    expect(await Promise.all(codes)).toEqual([0, 0]);
    const { ran } = await run("build");
    expect(ran.filter((line) => line.startsWith("npm"))).toEqual([ci]);
  });

  test.each([
    ["", 11],
    [", also where the clock was set back since", -3_600],
  ])("the lock of a killed build is ignored as soon as it is stale%s", async (_, seconds) => {
    const { run, age } = await checkout({ ".building": "" });
    await age(".building", seconds);
    expect((await run("build")).ran).toEqual(["tsc -b"]);
  });

  test("uses another user's folder as it is, even if that user's build was killed", async () => {
    const { run, age, protect } = await checkout({ ".building": "" });
    await age(".building", 11);
    await protect();
    expect(await run("start")).toEqual({ code: 0, output: "", ran: ["tsc -b", "countersign serve"] });
  });

  test("installs again if and only if package-lock.json requires something else", async () => {
    const newer = await checkout({
      "package-lock.json": JSON.stringify({ packages: { ...locked, "node_modules/b": { version: "1.0.1" } } }),
    });
    expect((await newer.run("start")).ran[0]).toBe(ci);
    const more = await checkout({
      "package-lock.json": JSON.stringify({ packages: { ...locked, "node_modules/c": { version: "1.0.0" } } }),
    });
    expect((await more.run("start")).ran[0]).toBe(ci);
    const elsewhere = { ...locked, "node_modules/c-windows": { version: "1.0.0", optional: true } };
    const other = await checkout({ "package-lock.json": JSON.stringify({ packages: elsewhere }) });
    expect((await other.run("start")).ran[0]).toBe("tsc -b");
  });

  test("ends with the program's exit code", async () => {
    const { run } = await checkout({ "packages/cli/bin/countersign.js": "process.exitCode = 7;" });
    expect((await run("start")).code).toBe(7);
  });

  test("leaves signals to the program, which ends itself on SIGTERM", async () => {
    const { start } = await checkout({
      "packages/cli/bin/countersign.js":
        "process.on('SIGTERM', () => process.exit(3)); setInterval(() => {}, 1000); console.log('up');",
    });
    const child = start("start");
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill("SIGTERM");
    expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(3);
  });

  test("stops with the build's exit code and a message if the build fails", async () => {
    const { run } = await checkout({ "node_modules/typescript/bin/tsc": "process.exit(2);" });
    expect(await run("start")).toEqual({
      code: 2,
      output: "countersign: the build (tsc -b) failed (exit code 2)",
      ran: [""],
    });
  });

  test("says which Node it needs on an older one", async () => {
    const node = "18.20.8";
    const { run } = await checkout();
    vi.stubEnv(
      "NODE_OPTIONS",
      `--import=data:text/javascript,${encodeURIComponent(`Object.defineProperty(process, "versions", { value: { node: "${node}" } })`)}`,
    );
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await run("start")).toEqual({
      code: 1,
      output: `countersign: needs Node 20.19 or a later 20, or 22.2 or newer; this is ${node} (https://nodejs.org)`,
      ran: [""],
    });
  });
});

describe("npm test", () => {
  test("builds, then passes its arguments to vitest", async () => {
    const { run } = await checkout();
    expect((await run("test", "packages/core", "-t", "name")).ran).toEqual([
      "tsc -b",
      "vitest run packages/core -t name",
    ]);
  });

  test("fails when a test fails", async () => {
    const { run } = await checkout({ "node_modules/vitest/vitest.mjs": "process.exit(1);" });
    expect((await run("test")).code).toBe(1);
  });
});

test("an unknown command is refused with the known ones", async () => {
  const { run } = await checkout();
  expect(await run("constructor")).toEqual({
    code: 1,
    output: "countersign: usage: node scripts/run.mjs start|test|build [arguments]",
    ran: [""],
  });
});
