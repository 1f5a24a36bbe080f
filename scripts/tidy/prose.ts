/**
 * Finds phrases that CONTRIBUTING.md ("Plain English") bans, listed in `prose-patterns.json`: in comments, strings and
 * Markdown.
 */
import { readFileSync } from "node:fs";
import { parseSync, Visitor } from "oxc-parser";
import { pythonPassages } from "./python.ts";

/** A banned phrase. `found` matches, `fine` is similar and does not. */
interface ProsePattern {
  readonly pattern: string;
  readonly instead: string;
  readonly in?: "comments";
  readonly found: string;
  readonly fine: string;
}

interface ProseFinding {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

/** A part of a file that people read. All texts have the length they have in the file, so that offsets stay. */
export interface Passage {
  readonly kind: "comment" | "string" | "markdown";
  readonly start: number;
  readonly text: string;
}

/** Patterns ignore case. A space also matches a line break. */
export const prosePatterns: readonly ProsePattern[] = JSON.parse(
  readFileSync(new URL("prose-patterns.json", import.meta.url), "utf8"),
);

const compiled = prosePatterns.map((entry) => ({
  ...entry,
  expression: new RegExp(entry.pattern.replaceAll(" ", "\\s+"), "gi"),
}));

export function proseFindings(path: string, source: string): ProseFinding[] {
  return passagesOf(path, source).flatMap(({ kind, start, text }) =>
    compiled.flatMap(({ expression, instead, in: place }) => {
      if (place === "comments" && kind !== "comment") return [];
      return [...text.matchAll(expression)].map((match) => {
        const at = start + match.index + match[0].search(/\w/);
        const phrase = match[0].replace(/^\W+/, "").replaceAll(/\s+/g, " ");
        const line = source.slice(0, at).split("\n").length;
        return { path, line, rule: "prose", message: `"${phrase}": ${instead}` };
      });
    }),
  );
}

/** Returns the parts of a file that people read. */
export function passagesOf(path: string, source: string): Passage[] {
  if (path.endsWith(".md")) return [{ kind: "markdown", start: 0, text: proseOfMarkdown(source) }];
  if (path.endsWith(".py")) return pythonPassages(source);
  if (!/\.(?:[mc]?[tj]s|tsx)$/.test(path)) return [];
  const passages: Passage[] = [];
  const { program, comments } = parseSync(path, source);
  for (const { type, start, end } of comments) {
    // Consecutive line comments form one comment.
    const last = passages.at(-1);
    const between = last === undefined ? "" : source.slice(last.start + last.text.length, start);
    if (type === "Line" && last !== undefined && /^\s*\n[ \t]*$/.test(between) && !between.includes("\n\n")) {
      passages[passages.length - 1] = { ...last, text: last.text + between + proseOfComment(source.slice(start, end)) };
    } else passages.push(commentPassage(source, start, end));
  }
  const addString = ({ start, end }: { start: number; end: number }): void => {
    const text = source.slice(start, end);
    if (/\w+ +\w+ +\w/.test(text)) passages.push({ kind: "string", start, text });
  };
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === "string") addString(node);
    },
    TemplateElement: addString,
    JSXText: addString,
  }).visit(program);
  return passages;
}

function commentPassage(source: string, start: number, end: number): Passage {
  const text = proseOfComment(source.slice(start, end));
  const indent = Math.max(0, text.search(/\S/));
  return { kind: "comment", start: start + indent, text: text.slice(indent) };
}

/** Blanks comment marks, leading stars, and code in backticks. */
function proseOfComment(text: string): string {
  return text.replaceAll(/^\/\*+|\*+\/$|^[ \t]*\*|\/\/+|`[^`]*`/gm, blank);
}

/** Blanks code blocks, code in backticks, and link addresses. */
function proseOfMarkdown(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`|\]\([^)\n]*\)/gm, blank);
}

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, " ");
}
