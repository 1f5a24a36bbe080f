/** JSON that is written anew, with its numbers as they stood: `1.0`, and the digits that a double loses. */
import { createHash } from "node:crypto";
import { isExactNumber } from "@countersign/contract";
import type { Json } from "./messages.ts";

/** What was read of a text. Numbers that would be written otherwise are texts in it, and `write` makes numbers of them again. */
interface ExactJson {
  readonly value: Json;
  readonly write: (value: Json) => string;
  /** Returns the JSON Pointer, in a part of `value`, of the first number that a double does not hold as it is written. Null: none. */
  readonly inexactIn: (part: Json | undefined) => string | null;
}

/** Throws `SyntaxError`; `write` throws `RangeError` where it is nested too deep. */
export function readExactly(text: string): ExactJson {
  // Nothing in a text can be its own hash, however it is escaped.
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

/** The elements of the array that stands on a line, each as it stood, on a line; none where there is none. */
export function elementsIn(line: string): string[] {
  if (!/^\s*\[/.test(line)) return [];
  try {
    JSON.parse(line);
  } catch {
    return [];
  }
  // By the text: written anew, it took many times its memory, and what is nested deep cannot be written.
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
