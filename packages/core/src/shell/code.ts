/** Code that a command gives an interpreter, in an option, in a document, or through a pipe. */
import { split, valuesOf } from "./options.ts";
import { resolvedAll } from "./paths.ts";
import type { Input, ScriptReader, Simple } from "./read-script.ts";
import type { Arg } from "./words.ts";

const shells = new Set(["sh", "bash", "zsh", "dash", "ksh", "ash", "rbash"]);

interface Interpreter {
  /** Options whose value is code. */
  readonly code: readonly string[];
  readonly valued: ReadonlySet<string>;
  /** The code is the first argument. */
  readonly first?: true;
}

const interpreter = (code: string, others = ""): Interpreter => {
  const options = code.split(" ");
  return { code: options, valued: new Set([...options, ...others.split(" ")]) };
};

const interpreters: ReadonlyMap<string, Interpreter> = new Map([
  ["node", interpreter("-e --eval -p --print -pe", "-r --require --import --loader -C --env-file --conditions")],
  ["nodejs", interpreter("-e --eval -p --print", "-r --require")],
  ["tsx", interpreter("-e --eval -p --print", "--tsconfig --env-file")],
  ["ts-node", interpreter("-e --eval -p --print", "-P -O")],
  ["bun", interpreter("-e --eval -p --print", "-r --preload")],
  ["perl", interpreter("-e -E -ne -pe -ane -i.bak", "-I -M -F")],
  ["ruby", interpreter("-e -ne -pe", "-I -r")],
  ["php", interpreter("-r -B -R -E", "-c -d -f -S -t")],
  ["osascript", interpreter("-e", "-l")],
  ["pwsh", interpreter("-c -Command -EncodedCommand -e")],
  ["powershell", interpreter("-c -Command -EncodedCommand -e")],
  ["lua", interpreter("-e", "-l")],
  ["Rscript", interpreter("-e")],
  ["psql", interpreter("-c --command", "-h -p -U -d -f -v -o --host --port --username --dbname --file")],
  ["mysql", interpreter("-e --execute", "-h -P -u -D --host --port --user --database")],
  ["mariadb", interpreter("-e --execute", "-h -P -u -D --host --port --user --database")],
  ["mongosh", interpreter("--eval", "--host --port -u -p")],
  ["mongo", interpreter("--eval", "--host --port -u -p")],
  ["clickhouse-client", interpreter("-q --query", "-h --host --port -u --user -d")],
  ["deno", interpreter("-e --eval")],
  ["sqlite3", { ...interpreter("-cmd"), first: true }],
  ["expect", interpreter("-c")],
]);

const python = interpreter("-c", "-m -W -X");

function interpreterOf(program: string): Interpreter | undefined {
  return /^(?:python|pypy)[\d.]*$/.test(program) ? python : interpreters.get(program);
}

/** Adds the code that the command runs. Shell code is read like the command itself. */
export function readCode(program: string, args: readonly Arg[], command: Simple, reader: ScriptReader): void {
  if (shells.has(program)) return void shell(args, command, reader);
  const { found } = reader;
  if (program === "eval") return void runText(joined(args), program, command, reader);
  if (program === "source" || program === ".") return void sourced(args[0], program, command, reader);
  if (program === "trap" && args.length > 1) return void runText(args[0] as Arg, program, command, reader);
  if (/^g?awk$|^mawk$/.test(program) && args.some(({ text }) => /\bsystem\s*\(|\|\s*"|getline/.test(text)))
    return void addCode(joined(args), program, reader);
  const known = interpreterOf(program);
  if (known === undefined) return;
  const given = split(args, known.valued);
  const codes = valuesOf(given, ...known.code);
  for (const code of codes) addCode(code, program, reader);
  const [first, second] = given.rest;
  if (program === "deno" && first?.text === "eval" && second !== undefined)
    return void addCode(second, program, reader);
  if (known.first === true && second !== undefined) return void addCode(second, program, reader);
  if (codes.length > 0 || valuesOf(given, "-m", "-f", "--file").length > 0) return;
  if (first?.made === true) return void found.add("unseen", `${program} ${first.text}`);
  const is_database = /^(?:psql|mysql|mariadb|mongosh|mongo|sqlite3|clickhouse-client)$/.test(program);
  if (first === undefined || first.text === "-" || is_database) piped(program, command, reader, addCode);
}

function shell(args: readonly Arg[], command: Simple, reader: ScriptReader): void {
  const given = split(args, new Set(["-c", "-o", "-O", "--rcfile", "--init-file"]));
  const [code] = valuesOf(given, "-c");
  const [first] = given.rest;
  if (code !== undefined) return void runText(code, "sh -c", command, reader);
  const reads_input = first === undefined || first.text === "-" || args.some(({ text }) => /^-[a-z]*s/.test(text));
  if (!reads_input) return void sourced(first, "sh", command, reader);
  piped("sh", command, reader, (text) => runText(text, "sh", command, reader));
}

/** A script in a file is not read: what it does is not known. */
function sourced(script: Arg | undefined, program: string, { scope }: Simple, { found }: ScriptReader): void {
  if (script === undefined) return;
  if (!script.clear) found.add("unseen", `${program} ${script.text}`);
  else if (program === "source" || program === ".")
    for (const path of resolvedAll(script, scope, found.place)) found.add("reads", path);
}

type Take = (text: Arg, program: string, reader: ScriptReader) => void;

function piped(program: string, { input }: Simple, reader: ScriptReader, take: Take): void {
  if (input === null) return;
  if ("text" in input) return void take(input.text, program, reader);
  const text = printedBy(input);
  if (text === null) reader.found.add("unseen", `${program} reads a pipe`);
  else take(text, program, reader);
}

/** Returns the text if `echo`, `printf` or `cat <<EOF` alone writes the pipe. */
function printedBy(input: Input): Arg | null {
  if ("text" in input) return input.text;
  const [only, ...others] = input.from;
  const [program, ...args] = only?.words ?? [];
  if (only === undefined || others.length > 0) return null;
  if (program?.text === "cat" && args.length === 0 && only.input !== null) return printedBy(only.input);
  if (program?.text !== "echo" && program?.text !== "printf") return null;
  const words = args.filter(({ text }, at) => at > 0 || !/^-[neE]+$/.test(text));
  // Escapes may hide what is written.
  return words.some(({ text }) => text.includes("\\") || text.includes("%")) ? null : joined(words);
}

function joined(words: readonly Arg[]): Arg {
  return {
    text: words.map(({ text }) => text).join(" "),
    clear: words.every(({ clear }) => clear),
    made: words.some(({ made }) => made),
  };
}

function runText({ text, clear, made }: Arg, program: string, { scope }: Simple, reader: ScriptReader): void {
  if (made || (!clear && /^\s*[$`]/.test(text))) return void reader.found.add("unseen", `${program} ${text}`);
  reader.read(text, { ...scope, vars: new Map(scope.vars) });
}

function addCode({ text, made }: Arg, program: string, { found }: ScriptReader): void {
  if (made && /^\s*(?:[$`]|<\()/.test(text)) found.add("unseen", `${program} ${text}`);
  else found.add("code", text);
}
