/**
 * Makes a release: version, changelog, tarballs with checksums, SBOM.
 *
 * npm run release -- --version 0.2.0 --dry-run
 *
 * A dry run changes no tracked file or tag. Otherwise the script commits and tags, but never pushes or publishes.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeChecksums } from "./pack.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const release_dir = join(root, "release");

const usage = `usage: npm run release -- [--version X.Y.Z] [--dry-run]
  --version   the version to release; the version in package.json by default
  --dry-run   write tarballs, checksums and SBOM to release/, and change nothing else`;

/** An operator's mistake. The message says what to do. */
class Refused extends Error {}

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return stdout.trim();
  throw new Refused(`${command} ${args.join(" ")} failed:\n${error?.message ?? `${stdout}${stderr}`.trim()}`);
}

/** Moves "Unreleased" under this version. Returns the changelog and that section's text. */
export function closeChangelog(changelog: string, version: string, date: string): { text: string; notes: string } {
  const [, before, notes, after] = /^([\s\S]*?)## Unreleased\n([\s\S]*?)((?=\n## )[\s\S]*|)$/.exec(changelog) ?? [];
  if (before === undefined || notes === undefined || notes.trim() === "")
    throw new Refused('CHANGELOG.md has no text under "## Unreleased". Write what changed for users there first.');
  return {
    text: `${before}## Unreleased\n\n## ${version} - ${date}\n${notes}${after ?? ""}`,
    notes: notes.trim(),
  };
}

/** Files outside package.json that name the version. */
const namingVersion = ["packages/contract/src/version.ts", "README.md", "packages/sdk/README.md"];

function setVersion(from: string, version: string): void {
  run("npm", [
    "version",
    version,
    "--workspaces",
    "--include-workspace-root",
    "--no-git-tag-version",
    "--allow-same-version",
  ]);
  // npm does not update the versions of dependencies between packages.
  for (const name of readdirSync(join(root, "packages"))) {
    const file = join(root, "packages", name, "package.json");
    const text = readFileSync(file, "utf8").replaceAll(/("@countersign\/[\w-]+": )"[^"]+"/g, `$1"${version}"`);
    writeFileSync(file, text);
  }
  for (const path of namingVersion) {
    const file = join(root, path);
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(from, version));
  }
  run("npm", ["install", "--package-lock-only", "--ignore-scripts"]);
  run(process.execPath, ["scripts/complete-lock.mjs"]);
}

function makeArtifacts(): string[] {
  run("npm", ["run", "pack"]);
  const sbom = run("npm", ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev"]);
  writeFileSync(join(release_dir, "countersign.cdx.json"), `${sbom}\n`);
  writeChecksums(release_dir);
  return readdirSync(release_dir).sort();
}

function release(from: string, version: string, is_dry_run: boolean): void {
  if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)) throw new Refused(`${version} is not a version. Give X.Y.Z.`);
  const dirty = run("git", ["status", "--porcelain"]);
  if (dirty !== "" && !is_dry_run) throw new Refused(`Commit or stash these changes first:\n${dirty}`);
  if (run("git", ["tag", "--list", `v${version}`]) !== "") throw new Refused(`The tag v${version} already exists.`);
  const changelog = join(root, "CHANGELOG.md");
  const { text, notes } = closeChangelog(
    readFileSync(changelog, "utf8"),
    version,
    new Date().toISOString().slice(0, 10),
  );
  if (!is_dry_run) {
    setVersion(from, version);
    writeFileSync(changelog, text);
    run("npm", ["run", "gen"]);
  }
  const files = makeArtifacts();
  console.log(`Countersign ${version}\n\n${notes}\n\nrelease/\n${files.map((name) => `  ${name}`).join("\n")}`);
  if (is_dry_run) {
    console.log("\nDry run: no version, changelog, commit or tag was changed.");
    return;
  }
  run("git", ["commit", "--all", "--message", `Release ${version}`]);
  run("git", ["tag", "--annotate", `v${version}`, "--message", `Countersign ${version}`]);
  console.log(`\nCommitted and tagged v${version}. Push both: git push --follow-tags`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const { values } = parseArgs({
      options: { version: { type: "string" }, "dry-run": { type: "boolean" }, help: { type: "boolean", short: "h" } },
    });
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    if (values.help) console.log(usage);
    else release(version, values.version ?? version, values["dry-run"] ?? false);
  } catch (error) {
    const is_usage = error instanceof TypeError && "code" in error;
    if (!(error instanceof Refused) && !is_usage) throw error;
    console.error(is_usage ? `${(error as Error).message}\n${usage}` : (error as Error).message);
    process.exitCode = 1;
  }
}
