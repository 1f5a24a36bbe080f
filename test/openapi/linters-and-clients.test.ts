/** openapi.json in the hands of others: two linters, and the clients that two generators make of it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../packages/sdk/src/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const folder = import.meta.dirname;
const root = join(folder, "../..");
const has_tools = existsSync(join(folder, "node_modules/@redocly/cli/package.json"));
if (!has_tools)
  console.warn("The tests of openapi.json with linters and generators are skipped: npm ci --prefix test/openapi");

/** Runs a program in the root of the repository, without questions to other hosts. */
async function run(program: string, args: readonly string[], settings: Readonly<Record<string, string>> = {}) {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(program, args, {
    cwd: root,
    env: { PATH, HOME, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", ...settings },
  });
  const ended = once(child, "close");
  const [stdout, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [status]: (number | null)[] = await ended;
  return { status, stdout, errors };
}

const tool = (name: string, ...args: string[]) => run(join(folder, "node_modules/.bin", name), args);

/** Makes a folder in which imports find the packages of `test/openapi`. */
function generated(): string {
  const made = mkdtempSync(join(folder, "node_modules/.generated-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const database = await testDatabase();
const { url } = await serviceNode(database);
const org = await reviewedOrganization(database.db, url, { packs: [], default_verdict: "approve" });
const admin = createClient({ base_url: url, api_key: org.admin });

const generators: readonly (readonly [name: string, (made: string) => ReturnType<typeof tool>])[] = [
  ["openapi-typescript", (made) => tool("openapi-typescript", "openapi.json", "-o", join(made, "paths.ts"))],
  [
    "hey-api",
    (made) =>
      tool(
        "openapi-ts",
        "-i",
        "openapi.json",
        "-o",
        relative(root, join(made, "client")),
        "-c",
        "@hey-api/client-fetch",
        "--no-log-file",
      ),
  ],
];

describe.skipIf(!has_tools)("openapi.json with tools of others (npm ci --prefix test/openapi)", () => {
  test("Redocly's recommended rules report nothing", async () => {
    const { stdout, errors } = await tool("redocly", "lint", "openapi.json", "--extends=recommended", "--format=json");
    expect(errors).toContain("openapi.json: validated");
    // The ignored problem is in .redocly.lint-ignore.yaml.
    expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 1 }, problems: [] });
  });

  test("Spectral's recommended rules report nothing", async () => {
    const ruleset = join(folder, ".spectral.yaml");
    const { status, stdout } = await tool(
      "spectral",
      "lint",
      "-r",
      ruleset,
      "-f",
      "json",
      "-F",
      "hint",
      "-q",
      "openapi.json",
    );
    expect({ status, found: JSON.parse(stdout) }).toEqual({ status: 0, found: [] });
  });

  test.each(generators)(
    "%s makes a client that compiles and works",
    async (name, generate) => {
      const made = generated();
      const { status, errors } = await generate(made);
      expect({ status, errors }).toMatchObject({ status: 0 });
      writeFileSync(join(made, "package.json"), '{"type": "module"}');
      cpSync(join(folder, "programs", `${name}.ts`), join(made, "program.ts"));
      writeFileSync(
        join(made, "tsconfig.json"),
        JSON.stringify({ extends: join(folder, "tsconfig.json"), files: ["program.ts"], include: [] }),
      );
      expect(await tool("tsc", "-p", made)).toMatchObject({ status: 0, stdout: "" });

      const settings = { COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: org.agent };
      const tsx = join(root, "node_modules/.bin/tsx");
      expect(await run(tsx, [join(made, "program.ts")], settings)).toEqual({
        status: 0,
        stdout: "approve\n",
        errors: "",
      });
      const { intents } = await admin.listIntents({ agent_id: `${name}-bot` });
      expect(intents).toMatchObject([{ verdict: "approve" }]);
    },
    600_000,
  );
});
