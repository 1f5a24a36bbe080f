/** Reads and writes JSON and keeps the digits of numbers, such as `1.0`. */
import { createHash } from "node:crypto";
import { isExactNumber } from "@countersign/contract";
import type { Json } from "./messages.ts";

/** Numbers that JavaScript would write differently are texts in `value`. `write` turns them back into numbers. */
interface ExactJson {
  readonly value: Json;
  readonly write: (value: Json) => string;
  /** Returns the JSON Pointer of the first number in `part` that a double would round; null: none. */
  readonly inexactIn: (part: Json | undefined) => string | null;
}

/** Throws `SyntaxError`. `write` throws `RangeError` for a value nested too deep. */
export function readExactly(text: string): ExactJson {
  // No text can contain its own hash.
  const mark = createHash("sha256").update(text).digest("hex");
  const marked = new RegExp(`"${mark}(.*?)"`, "g");
  const inexactIn: ExactJson["inexactIn"] = (part) => {
    if (typeof part === "string") return part.startsWith(mark) && !isExactNumber(part.slice(mark.length)) ? "" : null;
    for (const [name, member] of typeof part === "object" && part !== null ? Object.entries(part) : []) {
      const found = inexactIn(member);
      if (found !== null) return `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}${found}`;
    }
    return null;
  };
  return {
    value: JSON.parse(markNumbers(text, mark)),
    write: (value) => JSON.stringify(value).replaceAll(marked, "$1"),
    inexactIn,
  };
}

/** Returns the original texts of an array's elements, each on one line; empty without an array. */
export function elementsIn(line: string): string[] {
  if (!/^\s*\[/.test(line)) return [];
  try {
    JSON.parse(line);
  } catch {
    return [];
  }
  // Works on the text, because parsing takes many times the memory and deep nesting cannot be written.
  const elements: string[] = [];
  let [start, depth, in_string] = [line.indexOf("[") + 1, 0, false];
  for (let at = start; at < line.length; at += 1) {
    const char = line[at] as string;
    if (in_string) {
      if (char === "\\") at += 1;
      else in_string = char !== '"';
    } else if (char === '"') in_string = true;
    else if (char === "[" || char === "{") depth += 1;
    else if (depth === 0 && (char === "," || char === "]")) {
      elements.push(line.slice(start, at).trim());
      start = at + 1;
    } else if (char === "]" || char === "}") depth -= 1;
  }
  return elements.filter((each) => each !== "");
}

function markNumbers(text: string, mark: string): string {
  let in_string = false;
  return text.replaceAll(/\\.|"|-?\d[-+.\deE]*/g, (token) => {
    if (token === '"') in_string = !in_string;
    const same = in_string || token === '"' || token.startsWith("\\") || String(Number(token)) === token;
    return same ? token : `"${mark}${token}"`;
  });
}
