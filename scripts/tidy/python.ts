/** Reads Python source: what people read in it, and its functions. */
import type { LongFunction } from "./functions.ts";
import type { Passage } from "./prose.ts";

/** A run of comments, a docstring, or another text. */
const readable = /#[^\n]*(?:\n[ \t]*#[^\n]*)*|("""|''')[\s\S]*?\1|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g;

/** Returns comments and docstrings as comments, and other texts of three words or more. */
export function pythonPassages(source: string): Passage[] {
  return [...source.matchAll(readable)].flatMap((match): Passage[] => {
    const { 0: text, 1: quotes, index: start } = match;
    if (quotes === undefined && !text.startsWith("#")) {
      return /\w+ +\w+ +\w/.test(text) ? [{ kind: "string", start, text }] : [];
    }
    const prose = text.replaceAll(/^[ \t]*#|^(?:"""|''')|(?:"""|''')$|`[^`]*`/gm, (part) => " ".repeat(part.length));
    const indent = Math.max(0, prose.search(/\S/));
    return [{ kind: "comment", start: start + indent, text: prose.slice(indent) }];
  });
}

/** Returns the functions with more lines. A function ends before the next line that is not indented more. */
export function longPythonFunctions(source: string, lines_max: number): LongFunction[] {
  const lines = source.split("\n");
  const indentOf = (line: string): number => line.search(/\S/);
  return lines.flatMap((line, at) => {
    const name = /^\s*(?:async )?def (\w+)/.exec(line)?.[1];
    if (name === undefined) return [];
    const after = lines.slice(at + 1);
    // A closing parenthesis of the parameters is indented as the function.
    const end = after.findIndex((each) => /\S/.test(each) && indentOf(each) <= indentOf(line) && !/^\s*\)/.test(each));
    const body = (end === -1 ? after : after.slice(0, end)).join("\n").trimEnd();
    const count = body.split("\n").length + 1;
    return count > lines_max ? [{ name, line: at + 1, lines: count }] : [];
  });
}
