import type { Arg } from "./words.ts";

/** Arguments of a command, split into options with their values and the rest. */
export interface Split {
  readonly options: readonly { readonly name: string; readonly value: Arg | null }[];
  readonly rest: readonly Arg[];
}

/** `valued`: options that take the next argument, such as `-o` and `--output`. */
export function split(args: readonly Arg[], valued: ReadonlySet<string> = new Set()): Split {
  const options: { name: string; value: Arg | null }[] = [];
  const rest: Arg[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as Arg;
    const { text } = arg;
    if (text === "--") {
      rest.push(...args.slice(at + 1));
      break;
    }
    if (!text.startsWith("-") || text === "-") {
      rest.push(arg);
      continue;
    }
    const found = text.startsWith("--") ? long(arg, valued) : short(arg, valued);
    const takes_next = found.at(-1)?.value === "next";
    if (takes_next) at += 1;
    const next = args[at] ?? null;
    for (const { name, value } of found) options.push({ name, value: value === "next" ? next : value });
  }
  return { options, rest };
}

type Found = readonly { readonly name: string; readonly value: Arg | "next" | null }[];

function long(arg: Arg, valued: ReadonlySet<string>): Found {
  const { text } = arg;
  const equals = text.indexOf("=");
  if (equals > 0) return [{ name: text.slice(0, equals), value: { ...arg, text: text.slice(equals + 1) } }];
  return [{ name: text, value: valued.has(text) ? "next" : null }];
}

/** `-sSLo file` and `-ofile`. Words such as `-name` count as one option, too. */
function short(arg: Arg, valued: ReadonlySet<string>): Found {
  const { text } = arg;
  if (valued.has(text)) return [{ name: text, value: "next" }];
  const found: { name: string; value: Arg | "next" | null }[] = [{ name: text, value: null }];
  for (let at = 1; at < text.length; at += 1) {
    const name = `-${text[at]}`;
    if (!valued.has(name)) {
      found.push({ name, value: null });
      continue;
    }
    const attached = text.slice(at + 1).replace(/^=/, "");
    found.push({ name, value: attached === "" ? "next" : { ...arg, text: attached } });
    break;
  }
  return found;
}

export function has({ options }: Split, ...names: readonly string[]): boolean {
  return options.some(({ name }) => names.includes(name));
}

export function valuesOf({ options }: Split, ...names: readonly string[]): readonly Arg[] {
  return options.flatMap(({ name, value }) => (names.includes(name) && value !== null ? [value] : []));
}
