/** Reads the code blocks of the Markdown files that people read. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** One fenced block. `line` counts from 1. */
export interface CodeBlock {
  readonly path: string;
  readonly line: number;
  /** "" if the block names none. */
  readonly language: string;
  readonly text: string;
}

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Returns all Markdown files of the repository that have prose, with their texts. */
export function pages(): { path: string; text: string }[] {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], { cwd: root });
  return listed
    .toString()
    .split("\n")
    .filter((path) => path !== "" && !path.startsWith("test/data/"))
    .map((path) => ({ path, text: readFileSync(`${root}${path}`, "utf8") }));
}

/** Returns all fenced blocks. Blocks inside a list lose the indentation of their fence. */
export function codeBlocks(): CodeBlock[] {
  return pages().flatMap(({ path, text }) =>
    Array.from(text.matchAll(/^( *)```([^\n`]*)\n([\s\S]*?)^\1```$/gm), (match) => {
      const [, indent = "", language = "", inner = ""] = match;
      const line = text.slice(0, match.index).split("\n").length;
      return { path, line, language: language.trim(), text: inner.replaceAll(new RegExp(`^${indent}`, "gm"), "") };
    }),
  );
}

/** Returns the commands of a block: all lines of `sh`, and of `console` those after a prompt. Continued lines are one command. */
export function commandsOf({ language, text }: CodeBlock): string[] {
  if (language !== "sh" && language !== "console") return [];
  const joined = text.replaceAll(/\\\n\s*/g, " ").split("\n");
  if (language === "sh") return joined.filter((line) => line.trim() !== "" && !line.startsWith("#"));
  return joined.flatMap((line) => (line.startsWith("$ ") ? [line.slice(2)] : []));
}
