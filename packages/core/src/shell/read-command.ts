/** Adds what one simple command does. */
import { readCode } from "./code.ts";
import type { Collected } from "./effects.ts";
import { connect, copyOver, curl, hostOfCopy, type Transfer, urlHosts, wget } from "./hosts.ts";
import { fetchedBy, installsOf } from "./installs.ts";
import { launchedBy } from "./launchers.ts";
import { has, split, valuesOf } from "./options.ts";
import { normal } from "./paths.ts";
import { type FileArgs, fileArgs, leadingOptions, textPrograms } from "./programs.ts";
import { addValues, type ScriptReader, type Simple } from "./read-script.ts";
import { startingOthers } from "./tables/commands.ts";
import { type Arg, literal, type Scope } from "./words.ts";

export function readCommand(command: Simple, reader: ScriptReader): void {
  const { found } = reader;
  const [first, ...args] = command.words;
  if (first === undefined) return;
  if (!first.clear) return void found.add("unclear", `program: ${first.text}`);
  const program = programOf(first.text);
  if (program === "") return;
  const line = [program, ...args.map(({ text }) => text)].join(" ");
  if (startingOthers.some((pattern) => pattern.test(line))) found.add("unclear", `a program in an argument: ${line}`);
  const launched = launchedBy(program, args);
  if (launched !== null) {
    for (const each of launched.assigned) found.add("variables", each);
    if (/^(?:sudo|doas|pkexec|su)$/.test(program)) found.add("elevated", program);
    if (launched.runs || launched.words.length === 0) addRun(found, program, args);
    for (const each of fetchedBy(program, launched.words[0])) found.add("installs", each);
    for (const host of urlHosts(args.slice(0, args.length - launched.words.length))) found.add("hosts", host);
    if (launched.words.length > 0)
      reader.start({ ...command, words: withInput(program, launched.words, args, command) });
    return;
  }
  if (changesScope(program, args, command, found)) return;
  if (program === "printf" && args[0]?.text.startsWith("-v") === true)
    addValues(command.scope, args[0].text.slice(2) || (args[1]?.text ?? ""), [unclear("printf")]);
  addRun(found, program, args);
  readCode(program, args, command, reader);
  for (const each of installsOf(program, args)) found.add("installs", each);
  const module = moduleOf(program, args);
  if (module !== null) return void reader.start({ ...command, words: module });
  if (!addTransfer(found, program, args, command.scope)) addFiles(found, program, args, command.scope);
  if (program === "find") addFind(args, command, reader);
}

/** `/usr/bin/rm` and `\rm` are `rm`. A script of the project keeps its path. */
function programOf(text: string): string {
  return /^\/(?:usr\/(?:local\/)?)?s?bin\/|^\/opt\/homebrew\/bin\//.test(text)
    ? (text.split("/").at(-1) as string)
    : text;
}

/** `xargs` adds what its input names: the places that `find`, `ls` or `git ls-files` search; otherwise unclear. */
function withInput(program: string, words: readonly Arg[], all: readonly Arg[], { input }: Simple): readonly Arg[] {
  if (program !== "xargs") return words;
  const options = all.slice(0, all.length - words.length);
  const given = split(options, new Set(["-I", "-i", "--replace"]));
  const replaced = valuesOf(given, "-I", "--replace")[0]?.text ?? (has(given, "-i", "--replace") ? "{}" : null);
  const places = placesIn(input);
  return replaced === null ? [...words, ...places] : words.flatMap((word) => filled(word, replaced, places));
}

/** A place inside a longer text, such as that of `sh -c`, becomes a part of a program. */
function filled(word: Arg, mark: string, places: readonly Arg[]): readonly Arg[] {
  if (!word.text.includes(mark)) return [word];
  return places.map(({ text, clear }) => ({
    text: word.text.replaceAll(mark, text),
    clear,
    made: /\s/.test(word.text),
  }));
}

function placesIn(input: Simple["input"]): readonly Arg[] {
  const [only, ...others] = input !== null && "from" in input ? input.from : [];
  const [source, ...args] = only?.words ?? [];
  const filters = others.every(({ words: [name] }) => /^(?:grep|egrep|rg|head|tail|sort|uniq)$/.test(name?.text ?? ""));
  if (source !== undefined && filters) {
    if (source.text === "find") return searched(args);
    if (source.text === "ls" || source.text === "fd") return orHere(split(args).rest);
    if (source.text === "git" && args[0]?.text === "ls-files") return [literal(".")];
    if (/^(?:grep|rg)$/.test(source.text)) return orHere(split(args).rest.slice(1));
  }
  return [unclear("xargs")];
}

const unclear = (name: string): Arg => ({ text: `$${name}`, clear: false, made: false });

const orHere = (args: readonly Arg[]): readonly Arg[] => (args.length === 0 ? [literal(".")] : args);

/** Returns the directories that `find` searches, with the pattern of `-name`. */
function searched(args: readonly Arg[]): readonly Arg[] {
  const end = args.findIndex(({ text }) => /^[-(!]/.test(text));
  const roots = orHere(end < 0 ? args : args.slice(0, end));
  const name = args.findIndex(({ text }) => text === "-name" || text === "-iname");
  const pattern = name < 0 ? undefined : args[name + 1];
  if (pattern === undefined) return roots;
  return roots.map((root) => ({ ...root, text: `${root.text}/${pattern.text}`, clear: root.clear && pattern.clear }));
}

/** Commands that change only the shell. */
function changesScope(program: string, args: readonly Arg[], { scope }: Simple, found: Collected): boolean {
  switch (program) {
    case "cd":
    case "pushd":
      scope.cwds = directories(split(args).rest[0] ?? literal("~"), scope, found);
      return true;
    case "popd":
      scope.cwds = [null];
      return true;
    case "read":
    case "mapfile":
    case "readarray":
    case "getopts":
      for (const { text } of split(args, new Set(["-p", "-d", "-n", "-t", "-u", "-a"])).rest)
        addValues(scope, text, [unclear(text)]);
      return true;
    case "export":
    case "declare":
    case "local":
    case "readonly":
    case "typeset":
    case "unset":
    case "alias":
    case "unalias":
    case "umask":
    case "ulimit":
      if (split(args).options.some(({ name }) => name === "-n")) found.add("unclear", `a name of a name: ${program}`);
      return args.length > 0;
    default:
      return false;
  }
}

function directories({ text, clear }: Arg, scope: Scope, { place }: Collected): Scope["cwds"] {
  if (!clear || text === "-") return [null];
  return scope.cwds.map((cwd) => {
    if (text.startsWith("~")) return place.home === null ? text : place.home + text.slice(1);
    if (text.startsWith("/")) return normal(text);
    return cwd === null ? null : normal(`${cwd}/${text}`);
  });
}

/** Adds the command as one text, with options before the subcommand moved to its end: `git push -C dir`. */
function addRun(found: Collected, program: string, args: readonly Arg[]): void {
  const texts = args.map(({ text }) => text);
  const valued = leadingOptions.get(program);
  let at = 0;
  if (valued !== undefined) while (/^[-+]/.test(texts[at] ?? "")) at += valued.has(texts[at] ?? "") ? 2 : 1;
  found.add("runs", [program, ...texts.slice(at), ...texts.slice(0, at)].join(" "));
}

/** `python -m pip install x` is `pip install x`. */
function moduleOf(program: string, args: readonly Arg[]): readonly Arg[] | null {
  if (!/^(?:python|pypy)[\d.]*$/.test(program)) return null;
  const at = args.findIndex(({ text }) => text === "-m");
  const before = args.slice(0, at);
  return at >= 0 && before.every(({ text }) => text.startsWith("-")) && at + 1 < args.length
    ? args.slice(at + 1)
    : null;
}

const transfers: ReadonlyMap<string, (args: readonly Arg[]) => Transfer> = new Map([
  ["curl", curl],
  ["wget", wget],
  ...["ssh", "nc", "ncat", "netcat", "telnet", "ftp", "sftp", "mosh", "socat"].map((name): [string, typeof connect] => [
    name,
    connect,
  ]),
  ...["scp", "rsync"].map((name): [string, typeof copyOver] => [name, copyOver]),
]);

/** Returns false for a program that is not known to transfer data. */
function addTransfer(found: Collected, program: string, args: readonly Arg[], scope: Scope): boolean {
  const transfer = transfers.get(program)?.(args);
  if (transfer === undefined) {
    if (!textPrograms.has(program)) for (const host of urlHosts(args)) found.add("hosts", host);
    if (program === "git")
      for (const { text } of split(args).rest.slice(1)) {
        const host = text.includes("@") ? hostOfCopy(text) : null;
        if (host !== null) found.add("hosts", host);
      }
    if (/^(?:dig|nslookup|host|ping|drill)$/.test(program))
      for (const { text, clear } of split(args).rest.slice(0, 2)) found.add(clear ? "hosts" : "sends", text);
    return false;
  }
  for (const host of transfer.hosts) if (host !== "") found.add("hosts", host);
  for (const host of transfer.sends) if (host !== "") found.add("sends", host);
  for (const arg of transfer.reads) found.read(arg, scope);
  for (const arg of transfer.writes) found.change("writes", arg, scope);
  return true;
}

const noFileArgs: FileArgs = { valued: new Set() };

function addFiles(found: Collected, program: string, args: readonly Arg[], scope: Scope): void {
  if (program === "git") return void addGitFiles(found, args, scope);
  if (program === "dd") return void addDd(found, args, scope);
  const spec = fileArgs.get(program) ?? noFileArgs;
  const given = split(args, spec.valued);
  // `sed -i ''` of BSD has an empty argument.
  const rest = given.rest.filter(({ text }) => text !== "");
  const writes_now = spec.writes_if === undefined || has(given, ...spec.writes_if);
  const { writes, reads, deletes } = spec;
  const directory = valuesOf(given, ...(spec.outputs ?? []));
  const written =
    writes === "all"
      ? rest
      : writes === "rest"
        ? rest.slice(1)
        : writes === "last" && directory.length === 0
          ? rest.slice(-1)
          : [];
  const sources = writes === "last" && directory.length === 0 ? rest.slice(0, -1) : rest;
  for (const arg of valuesOf(given, ...(spec.inputs ?? []))) readPlace(found, arg, scope);
  for (const arg of [...written, ...directory]) found.change("writes", arg, scope);
  if (spec.writes_if !== undefined && writes_now)
    for (const arg of reads === "rest" ? rest.slice(has(given, "-e", "-f", "--expression") ? 0 : 1) : rest)
      found.change("writes", arg, scope);
  if (deletes !== undefined) for (const arg of sources) found.change("deletes", arg, scope);
  if (spec === noFileArgs) addUnlisted(found, program, args, scope);
  else if (reads !== "none")
    for (const arg of reads === "rest" ? patternFree({ ...given, rest }) : sources) readPlace(found, arg, scope);
}

/** The first argument of `grep`, `sed` and `awk` is a pattern, unless an option gives it. */
function patternFree(given: ReturnType<typeof split>): readonly Arg[] {
  return has(given, "-e", "-f", "--expression", "--regexp", "--file") ? given.rest : given.rest.slice(1);
}

function readPlace(found: Collected, arg: Arg, scope: Scope): void {
  if (arg.text !== "-" && !arg.made) found.read(arg, scope);
}

/** A word of a command that may be a path, and no code, message or address. */
const pathLike = /^(?!-|[a-z][a-z0-9+.-]*:\/\/)[^\s()'"|;{}]*[./~][^\s()'"|;{}]*$/i;

/** Arguments and options of any other program that name a file: `--env-file .env`, `-o out`, `--key=…`. */
function addUnlisted(found: Collected, program: string, args: readonly Arg[], scope: Scope): void {
  if (textPrograms.has(program)) return;
  const given = split(
    args,
    new Set(["-o", "--output", "--out", "--outfile", "--output-file", "--outdir", "--out-dir"]),
  );
  for (const { name, value } of given.options) {
    if (value === null) continue;
    if (/^(?:-o|--out(?:put|file|-file|dir|-dir|put-file)?)$/.test(name)) found.change("writes", value, scope);
    else if (pathLike.test(value.text)) found.read({ ...value, text: value.text.replace(/^@/, "") }, scope);
  }
  for (const arg of given.rest) if (pathLike.test(arg.text)) found.read(arg, scope);
}

function addGitFiles(found: Collected, args: readonly Arg[], scope: Scope): void {
  const given = split(args, new Set([...(leadingOptions.get("git") ?? []), "-m", "-b", "-B", "--message", "-F", "-o"]));
  const [subcommand, ...rest] = given.rest;
  switch (subcommand?.text) {
    case "rm":
      for (const arg of rest) found.change("deletes", arg, scope);
      return;
    case "clone":
      if (rest[1] !== undefined) found.change("writes", rest[1], scope);
      return;
    case "init":
      for (const arg of rest) found.change("writes", arg, scope);
      return;
    case "worktree":
      if (rest[0]?.text === "add" && rest[1] !== undefined) found.change("writes", rest[1], scope);
      return;
    case "add":
    case "show":
    case "diff":
    case "blame":
    case "cat-file":
      for (const arg of rest) found.read({ ...arg, text: arg.text.replace(/^[^:]*:/, "") }, scope);
  }
}

function addDd(found: Collected, args: readonly Arg[], scope: Scope): void {
  for (const arg of args) {
    const [, name, path] = /^(if|of)=(.*)$/.exec(arg.text) ?? [];
    if (name === "if") found.read({ ...arg, text: path ?? "" }, scope);
    if (name === "of") found.change("writes", { ...arg, text: path ?? "" }, scope);
  }
}

/** `-delete`, and the commands of `-exec`, which run in the searched directories. */
function addFind(args: readonly Arg[], command: Simple, reader: ScriptReader): void {
  const roots = searched(args);
  if (args.some(({ text }) => text === "-delete"))
    for (const root of roots) reader.found.change("deletes", root, command.scope);
  for (const [at, { text }] of args.entries()) {
    if (/^-(?:fprint|fprintf|fls)$/.test(text) && args[at + 1] !== undefined)
      reader.found.change("writes", args[at + 1] as Arg, command.scope);
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(text)) continue;
    const rest = args.slice(at + 1);
    const end = rest.findIndex(({ text: each }) => each === ";" || each === "+");
    const words = (end < 0 ? rest : rest.slice(0, end)).flatMap((arg) => filled(arg, "{}", roots));
    reader.start({ ...command, words });
  }
}
