/** Words of a shell command with what the script itself says about variables. Reads nothing of the machine. */
import {
  type ArithmeticExpression,
  forEachChild,
  type ParsedScript,
  type SyntaxNode,
  type Word,
  type WordPart,
} from "unbash";

/** One word after expansion. */
export interface Arg {
  /** The value; parts that only the machine knows are as written, such as `$NAME`. */
  readonly text: string;
  /** False: a part of the value is not in the script. */
  readonly clear: boolean;
  /** True: the value comes from the output of a command. */
  readonly made: boolean;
}

export interface Scope {
  /** Directories that may be the current one. Null: unknown. */
  cwds: readonly (string | null)[];
  /** All literal values that the script gives a variable. */
  readonly vars: Map<string, readonly Arg[]>;
}

/** More values of one word are unclear. */
const values_max = 32;

export const literal = (text: string): Arg => ({ text, clear: true, made: false });

const unclear = (text: string, made = false): Arg => ({ text, clear: false, made });

/** Calls `take` with each script inside the node: `$(…)`, backticks, `<(…)`. */
export function scriptsIn(node: SyntaxNode, take: (script: ParsedScript) => void): void {
  forEachChild(node, (child) => {
    if (child.type === "Script") take(child);
    else scriptsIn(child, take);
  });
}

/** Returns the arguments that a word becomes: several for braces, loops, and variables with several values. */
export function expandWord(word: Word, scope: Scope, take: (script: ParsedScript) => void): readonly Arg[] {
  if (word.parts === undefined) return [literal(word.value)];
  for (const part of word.parts) scriptsIn(part, take);
  const values = joined(word.parts, scope, false);
  const splits = word.parts.some(({ type }) => type === "SimpleExpansion" || type === "ParameterExpansion");
  return splits ? values.flatMap(fields) : values;
}

/** An unquoted variable becomes one argument for each word of its value. */
function fields(value: Arg): readonly Arg[] {
  return value.text
    .split(/\s+/)
    .filter((text) => text !== "")
    .map((text) => ({ ...value, text }));
}

/** Returns the text of a document (`<<EOF`) or of a quoted text. */
export function textOf(parts: readonly WordPart[], scope: Scope): Arg {
  const [only, ...others] = joined(parts, scope, true);
  return only !== undefined && others.length === 0 ? only : unclear(parts.map(({ text }) => text).join(""));
}

function joined(parts: readonly WordPart[], scope: Scope, quoted: boolean): readonly Arg[] {
  let values: readonly Arg[] = [literal("")];
  for (const part of parts) {
    const next = valuesOf(part, scope, quoted);
    if (values.length * next.length > values_max) return [unclear(parts.map(({ text }) => text).join(""))];
    values = values.flatMap((before) =>
      next.map((after) => ({
        text: before.text + after.text,
        clear: before.clear && after.clear,
        made: before.made || after.made,
      })),
    );
  }
  return values;
}

function valuesOf(part: WordPart, scope: Scope, quoted: boolean): readonly Arg[] {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [literal(part.value)];
    case "DoubleQuoted":
    case "LocaleString":
      return joined(part.parts, scope, true);
    case "Glob":
      return [literal(part.text)];
    case "SimpleExpansion":
      return variable(part.text.slice(1), part.text, scope);
    case "ParameterExpansion": {
      const is_plain = part.operation === undefined && part.prefix === undefined && part.index === undefined;
      return is_plain ? variable(part.parameter, part.text, scope) : [unclear(part.text)];
    }
    case "CommandExpansion":
      return isPwd(part.script) ? directories(part.text, scope) : [unclear(part.text, true)];
    case "ProcessSubstitution":
      return [unclear(part.text, true)];
    case "BraceExpansion":
      return quoted ? [literal(part.text)] : (braces(part.text)?.map(literal) ?? [unclear(part.text)]);
    case "ExtendedGlob":
      return [/[$`]/.test(part.text) ? unclear(part.text) : literal(part.text)];
    case "ArithmeticExpansion":
      return [part.expression !== undefined && isNumber(part.expression) ? literal(part.text) : unclear(part.text)];
  }
}

const isNumber = (expression: ArithmeticExpression): boolean =>
  expression.type === "ArithmeticWord" && /^\d+$/.test(expression.value);

function variable(name: string, written: string, scope: Scope): readonly Arg[] {
  const values = scope.vars.get(name);
  if (values !== undefined) return values;
  if (name === "HOME") return [literal("~")];
  if (name === "PWD") return directories(written, scope);
  if (name === "TMPDIR") return [literal("/tmp")];
  if (name === "IFS") return [literal(" ")];
  return [unclear(written)];
}

function directories(written: string, { cwds }: Scope): readonly Arg[] {
  return cwds.map((cwd) => (cwd === null ? unclear(written) : literal(cwd)));
}

function isPwd(script: ParsedScript | undefined): boolean {
  const command = script?.commands.length === 1 ? script.commands[0]?.command : undefined;
  return command?.type === "Command" && command.name?.value === "pwd" && command.suffix.length === 0;
}

/** Returns the texts of `{a,b}`; null for nested and counting braces. */
function braces(text: string): readonly string[] | null {
  const inner = /^\{([^{}$`'"\\]*)\}$/.exec(text)?.[1];
  if (inner === undefined) return null;
  const range = /^(\d{1,4})\.\.(\d{1,4})$/.exec(inner);
  if (range === null) return inner.includes(",") ? inner.split(",") : null;
  const [from, to] = [Number(range[1]), Number(range[2])];
  if (Math.abs(to - from) >= values_max) return null;
  return Array.from({ length: Math.abs(to - from) + 1 }, (_, at) => String(from + (to > from ? at : -at)));
}
