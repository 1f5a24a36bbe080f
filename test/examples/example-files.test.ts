/** The files of the examples: pictures, versions and types. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { product_version } from "@countersign/contract";
import { renderMermaidSVG } from "beautiful-mermaid";
import { describe, expect, onTestFinished, test } from "vitest";
import { has_frameworks } from "../adapters/run-agent.ts";
import { examples } from "./run-example.ts";

const root = join(examples, "..");
const read = (...path: readonly string[]) => readFileSync(join(...path), "utf8");
const dependencies = (...path: readonly string[]): Record<string, string> => {
  const { dependencies, devDependencies } = JSON.parse(read(...path, "package.json"));
  return { ...dependencies, ...devDependencies };
};
const folders = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "policies")
  .map(({ name }) => name);
const installed = folders.filter((name) => existsSync(join(examples, name, "package.json")));

describe.each(folders)("examples/%s", (name) => {
  test("its page starts with a picture of the flow, and the list of examples has it", () => {
    const [, picture = ""] = /^# .+\n\n```mermaid\n(.*?)\n```\n/s.exec(read(examples, name, "README.md")) ?? [];
    expect(renderMermaidSVG(picture)).toContain("</svg>");
    expect(read(examples, "README.md")).toContain(`[${name}](${name}/README.md)`);
  });
});

test("the examples use the versions that the tests run", () => {
  const tested: Record<string, string> = {
    ...dependencies(root),
    ...dependencies(root, "test/adapters"),
    "@countersign/sdk": `file:../../release/countersign-sdk-${product_version}.tgz`,
    // Needed by the string "openai:gpt-5" of examples/langchain/model.ts. No test asks a real model.
    "@langchain/openai": "1.6.0",
  };
  expect(installed).toContain("functions");
  for (const name of installed) expect(tested, name).toMatchObject(dependencies(examples, name));
});

test.skipIf(!has_frameworks)(
  "the examples compile with the frameworks' types (npm ci --prefix test/adapters)",
  () => {
    const folder = mkdtempSync(join(root, "test/adapters/node_modules/.examples-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const filter = (path: string) => basename(path) !== "node_modules";
    for (const name of installed) cpSync(join(examples, name), join(folder, name), { recursive: true, filter });
    const compilerOptions = { exactOptionalPropertyTypes: false, noPropertyAccessFromIndexSignature: false };
    const files = installed
      .filter((name) => existsSync(join(folder, name, "agent.ts")))
      .map((name) => `${name}/agent.ts`);
    const config = { extends: join(root, "tsconfig.test.json"), compilerOptions, files, include: [], exclude: [] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    expect(files.length).toBeGreaterThan(5);
    const tsc = join(root, "node_modules/.bin/tsc");
    expect(spawnSync(tsc, ["-p", folder], { encoding: "utf8" })).toMatchObject({ status: 0, stdout: "" });
  },
  300_000,
);
