/** Reads the packs of this repository. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type PackFiles, type ParsedPack, parsePack } from "../packs/parse-pack.ts";

const root = fileURLToPath(new URL("../../../../packs/", import.meta.url));

export const packNames: readonly string[] = readdirSync(root, { withFileTypes: true })
  .flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  .sort();

/** Reads for example `README.md`. */
export function packText(pack: string, path: string): string {
  return readFileSync(`${root}${pack}/${path}`, "utf8");
}

export function packFiles(folder: string): PackFiles {
  const names = readdirSync(`${root}${folder}/policies`);
  return {
    folder,
    manifest: packText(folder, "pack.yaml"),
    policies: new Map(names.map((name) => [name, packText(folder, `policies/${name}`)])),
    cases: packText(folder, "cases.jsonl"),
  };
}

/** Throws for a malformed pack. Does not run its test cases. */
export function packOf(folder: string): ParsedPack {
  const { pack, diagnostics } = parsePack(packFiles(folder));
  const findings = diagnostics.map(({ file, message, help }) => `packs/${folder}/${file}: ${message} ${help}`);
  if (pack === null || findings.length > 0) throw new Error(findings.join("\n"));
  return pack;
}
