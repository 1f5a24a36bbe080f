/** Scans TypeScript as text, because TypeScript 7 has no compiler API for JavaScript. */

/** One import or re-export. `line` counts from 1. */
export interface Import {
  readonly specifier: string;
  readonly line: number;
}

/** Tokens after which a slash begins a regular expression, not a division. */
const beforeRegex = /(?:^|[([{,;:=!&|?+\-*%<>~^]|\b(?:return|typeof|case|in|of|void|delete|throw|new|yield|await))\s*$/;

/** Parts that are not code. Templates are scanned by hand. */
const notCode = {
  comment: /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y,
  string: /"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?/y,
  regex: /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y,
  templateText: /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y,
};

/**
 * Blanks comments, strings, templates and regular expressions. Quotes, line breaks and code inside `${}` stay, and
 * every character keeps its place.
 */
export function codeOnly(source: string): string {
  let code = "";
  let at = 0;
  const bracesInTemplates: number[] = [];
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0] ?? "";
  };
  const copy = (text: string): void => {
    code += text;
    at += text.length;
  };
  const blank = (text: string, edge = 0): void => copy(blanked(text, edge));
  const template = (): void => {
    blank(take(notCode.templateText));
    if (source.startsWith("${", at)) {
      copy("${");
      bracesInTemplates.push(0);
    } else copy(source.slice(at, at + 1));
  };
  while (at < source.length) {
    const char = source[at] as string;
    const open = bracesInTemplates.length - 1;
    if (char === "/" && take(notCode.comment) !== "") blank(take(notCode.comment));
    else if (char === "/" && beforeRegex.test(code.slice(-40)) && take(notCode.regex) !== "")
      blank(take(notCode.regex), 1);
    else if (char === '"' || char === "'") blank(take(notCode.string), 1);
    else if (char === "`") {
      copy(char);
      template();
    } else if (char === "}" && bracesInTemplates[open] === 0) {
      bracesInTemplates.pop();
      copy(char);
      template();
    } else {
      if (open >= 0 && char === "{") bracesInTemplates[open] = (bracesInTemplates[open] ?? 0) + 1;
      if (open >= 0 && char === "}") bracesInTemplates[open] = (bracesInTemplates[open] ?? 0) - 1;
      copy(char);
    }
  }
  return code;
}

function blanked(text: string, edge: number): string {
  const inner = text.slice(edge, text.length - edge).replaceAll(/[^\n]/g, " ");
  return edge === 0 ? inner : `${text.slice(0, edge)}${inner}${text.length > edge ? text.slice(-edge) : ""}`;
}

const importForms =
  /\b(?:import|export)\b[^;"'`()]*?\bfrom\s*(["'])|\bimport\s*(["'])|\b(?:import|require)\s*\(\s*(["'])/g;

/** Returns every imported module in order, also of `import()`. `code` is `codeOnly(source)`. */
export function importsOf(source: string, code: string): Import[] {
  return [...code.matchAll(importForms)].map((match) => {
    const begin = match.index + match[0].length;
    const quote = match[1] ?? match[2] ?? match[3] ?? '"';
    return { specifier: source.slice(begin, source.indexOf(quote, begin)), line: lineAt(source, begin) };
  });
}

export function lineAt(source: string, index: number): number {
  return source.slice(0, index).split("\n").length;
}
