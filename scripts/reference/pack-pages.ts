/** Writes a page for each pack from its README, and the list of packs. */
import type { ParsedPack } from "@countersign/core";
import { packText } from "../../packages/core/src/testing/packs.ts";
import { generatedPage, table } from "./markdown.ts";

export function packPages(packs: readonly ParsedPack[], names: readonly string[]): Map<string, string> {
  const pages = new Map<string, string>();
  const rows = names.map((name, index) => {
    const [title = name, ...rest] = packText(name, "README.md").trim().split("\n");
    pages.set(
      `docs/reference/packs/${name}.md`,
      generatedPage(title.replace(/^# /, "Pack "), `packs/${name}/README.md`, rest.join("\n").trim()),
    );
    return [`[\`${name}\`](packs/${name}.md)`, title.replace(/^# \w+: /, ""), String(packs[index]?.rules.length ?? 0)];
  });
  const lead = "For everybody who sets up a membrane. A pack is a starting point for your counsel, not legal advice.";
  const example = "```console\n$ countersign packs show security\n```";
  const list = generatedPage("Packs", "packs/", lead, example, table(["pack", "what it is about", "rules"], rows));
  return pages.set("docs/reference/packs.md", list);
}
