/** Lints every YAML file: syntax, duplicate keys, and GitHub workflows by their schema. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

export function yamlProblems(path: string, text: string): string[] {
  const documents = parseAllDocuments(text, { strict: true, uniqueKeys: true, prettyErrors: true });
  const problems = [...documents].flatMap(({ errors, warnings }) => [...errors, ...warnings]);
  const found = problems.map(({ message, linePos }) => `${path}:${linePos?.[0].line ?? 1} ${message.split("\n")[0]}`);
  for (const [index, line] of text.split("\n").entries())
    if (/[ \t]+$/.test(line)) found.push(`${path}:${index + 1} trailing white space`);
  return found;
}

export function repositoryYamlProblems(): string {
  const listed = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.yaml", "*.yml"], {
    cwd: root,
    encoding: "utf8",
  });
  if (listed.status !== 0) return `git ls-files failed: ${listed.stderr}`;
  const paths = listed.stdout.split("\n").filter((path) => path !== "");
  const found = paths.flatMap((path) => yamlProblems(path, readFileSync(join(root, path), "utf8")));
  for (const path of paths.filter((each) => each.startsWith(".github/workflows/"))) {
    const { status, stdout, stderr } = spawnSync(join(root, "node_modules/.bin/action-validator"), [path], {
      cwd: root,
      encoding: "utf8",
    });
    if (status !== 0) found.push(`${path} is not a valid workflow:\n${stdout}${stderr}`);
  }
  return found.join("\n");
}
