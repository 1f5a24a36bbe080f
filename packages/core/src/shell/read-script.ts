/** Finds the simple commands of a script, with their arguments and what reaches their standard input. */
import {
  type AndOr,
  type AssignmentPrefix,
  type Command,
  type CommandNode,
  type CompoundList,
  type ParsedScript,
  type PipelineNode,
  parse,
  type Redirection,
  type Statement,
  type Word,
} from "unbash";
import type { Collected } from "./effects.ts";
import { hostOfDevice } from "./hosts.ts";
import { type Arg, expandWord, literal, type Scope, scriptsIn, textOf } from "./words.ts";

/** Standard input: a text of the script, the output of other commands, or unknown. */
export type Input = { readonly text: Arg } | { readonly from: readonly Simple[] };

export interface Simple {
  readonly words: readonly Arg[];
  readonly input: Input | null;
  readonly scope: Scope;
}

export type Run = (command: Simple, reader: ScriptReader) => void;

const commands_max = 200;
const depth_max = 8;
const alternatives_max = 16;

export class ScriptReader {
  readonly found: Collected;
  readonly #run: Run;
  #commands = 0;
  #depth = 0;

  constructor(found: Collected, run: Run) {
    this.found = found;
    this.#run = run;
  }

  /** Reads a script, also one inside another, such as that of `bash -c`. */
  read(source: string, scope: Scope): void {
    this.#nested(() => this.#script(parse(source), scope));
  }

  /** Runs a command that another one starts, such as that of `sudo` or `xargs`. */
  start(command: Simple): void {
    this.#commands += 1;
    if (this.#commands > commands_max) return void this.found.add("unclear", `more than ${commands_max} commands`);
    this.#nested(() => this.#run(command, this));
  }

  #nested(work: () => void): void {
    if (this.#depth >= depth_max) return void this.found.add("unclear", `more than ${depth_max} scripts in each other`);
    this.#depth += 1;
    work();
    this.#depth -= 1;
  }

  #script(script: ParsedScript, scope: Scope): readonly Simple[] {
    for (const { message } of script.errors ?? []) this.found.add("unclear", `syntax: ${message}`);
    return this.#statements(script.commands, scope, null);
  }

  readonly #inner =
    (scope: Scope) =>
    (script: ParsedScript): void =>
      this.#nested(() => this.#script(script, copyOf(scope)));

  #expand(word: Word, scope: Scope): readonly Arg[] {
    return expandWord(word, scope, this.#inner(scope));
  }

  /** After each statement, the directory may be the one before, because `cd` can fail. */
  #statements(statements: readonly Statement[], scope: Scope, input: Input | null): readonly Simple[] {
    return statements.flatMap(({ command }) => {
      const before = scope.cwds;
      const simple = this.#andOr(command, scope, input);
      scope.cwds = union(before, scope.cwds);
      return simple;
    });
  }

  #list({ commands }: CompoundList, scope: Scope, input: Input | null): readonly Simple[] {
    return this.#statements(commands, scope, input);
  }

  #andOr(node: PipelineNode | AndOr, scope: Scope, input: Input | null): readonly Simple[] {
    if (node.type !== "AndOr") return this.#pipeline(node, scope, input);
    const before = scope.cwds;
    return node.commands.flatMap((command, at) => {
      if (at > 0 && node.operators[at - 1] === "||") scope.cwds = union(before, scope.cwds);
      return this.#pipeline(command, scope, input);
    });
  }

  #pipeline(node: PipelineNode, scope: Scope, input: Input | null): readonly Simple[] {
    if (node.type !== "Pipeline") return this.#node(node, scope, input);
    let from: readonly Simple[] = [];
    const all = node.commands.map((command, at) => {
      const simple = this.#node(command, copyOf(scope), at === 0 ? input : { from });
      from = [...from, ...simple];
      return simple;
    });
    return all.flat();
  }

  #node(node: CommandNode, scope: Scope, input: Input | null): readonly Simple[] {
    switch (node.type) {
      case "Command":
        return this.#command(node, scope, input);
      case "Redirected": {
        const given = this.#redirects(node.redirects, scope) ?? input;
        return this.#node(node.command, scope, given);
      }
      case "If":
        return [node, ...node.elif]
          .flatMap(({ clause, then }) => [clause, then])
          .concat(node.else ?? [])
          .flatMap((list) => this.#list(list, scope, input));
      case "For":
      case "Select":
        addValues(scope, node.name.value, node.wordlist?.flatMap((word) => this.#expand(word, scope)) ?? []);
        return this.#list(node.body, scope, input);
      case "While":
        return [node.clause, node.body].flatMap((list) => this.#list(list, scope, input));
      case "Subshell":
        return this.#list(node.body, copyOf(scope), input);
      case "BraceGroup":
        return this.#list(node.body, scope, input);
      case "Case":
        for (const word of [node.word, ...node.items.flatMap(({ pattern }) => pattern)])
          scriptsIn(word, this.#inner(scope));
        return node.items.flatMap(({ body }) => this.#list(body, scope, input));
      case "ArithmeticFor":
        for (const part of [node.initialize, node.test, node.update])
          if (part !== undefined) scriptsIn(part, this.#inner(scope));
        return this.#list(node.body, scope, input);
      case "Function":
        return this.#body(node.body, copyOf(scope), null);
      case "Coproc":
        return this.#body(node.body, copyOf(scope), null);
      case "TestCommand":
      case "ArithmeticCommand":
        scriptsIn(node, this.#inner(scope));
        return [];
    }
  }

  #body(node: CommandNode | CompoundList, scope: Scope, input: Input | null): readonly Simple[] {
    return node.type === "CompoundList" ? this.#list(node, scope, input) : this.#node(node, scope, input);
  }

  #command(node: Command, scope: Scope, input: Input | null): readonly Simple[] {
    const given = this.#redirects(node.redirects, scope) ?? input;
    for (const each of node.prefix) if (each.type === "Assignment") this.#assign(each, scope);
    if (node.name === undefined) return [];
    const words = [
      ...this.#expand(node.name, scope),
      ...node.args.flatMap((arg) => {
        if (arg.type === "Word") return this.#expand(arg, scope);
        this.#assign(arg, scope);
        return [{ ...literal(arg.text), clear: !/[$`]/.test(arg.text) }];
      }),
    ];
    const simple = { words, input: given, scope };
    if (words.length > 0) this.start(simple);
    return [simple];
  }

  #assign({ name, value, index, append, text }: AssignmentPrefix, scope: Scope): void {
    if (index !== undefined) scriptsIn(index, this.#inner(scope));
    const elements = value.type === "Word" ? [value] : value.elements;
    const values = elements.flatMap((each) => this.#expand(each, scope));
    this.found.add("variables", values.length === 1 ? `${name}=${values[0]?.text}` : text);
    addValues(scope, name, append === true ? [{ text: `$${name}`, clear: false, made: false }] : values);
    if (values.length === 0) addValues(scope, name, [literal("")]);
  }

  /** Returns the input that the redirections give; null: none. */
  #redirects(redirects: readonly Redirection[], scope: Scope): Input | null {
    let input: Input | null = null;
    for (const each of redirects) {
      if (each.type === "HereDoc") {
        const { text, parts } = each.body;
        if (parts !== undefined) for (const part of parts) scriptsIn(part, this.#inner(scope));
        input = { text: parts === undefined || each.delimiter?.quoted === true ? literal(text) : textOf(parts, scope) };
        continue;
      }
      if (each.target === undefined) continue;
      const targets = this.#expand(each.target, scope);
      if (each.type === "HereString") input = { text: targets.length === 1 ? (targets[0] as Arg) : literal("") };
      else for (const target of targets) this.#redirect(each.operator, target, scope);
    }
    return input;
  }

  #redirect(operator: string, target: Arg, scope: Scope): void {
    // `>&2` and `2>&-` name descriptors.
    if (operator.endsWith("&") && /^(?:\d+|-)$/.test(target.text)) return;
    const host = hostOfDevice(target.text);
    if (host !== null) {
      this.found.add("hosts", host);
      this.found.add("sends", host);
    } else if (operator.startsWith("<") && operator !== "<>") {
      if (!target.made) this.found.read(target, scope);
    } else if (!/^>\(/.test(target.text)) this.found.change("writes", target, scope);
  }
}

function copyOf({ cwds, vars }: Scope): Scope {
  return { cwds, vars: new Map(vars) };
}

function union(one: Scope["cwds"], other: Scope["cwds"]): Scope["cwds"] {
  const all = [...new Set([...one, ...other])];
  return all.length > alternatives_max ? [null] : all;
}

/** Keeps earlier values, because the script shows not which assignment ran. */
export function addValues(scope: Scope, name: string, values: readonly Arg[]): void {
  const all = new Map([...(scope.vars.get(name) ?? []), ...values].map((value) => [JSON.stringify(value), value]));
  const unclear = { text: `$${name}`, clear: false, made: false };
  scope.vars.set(name, all.size > alternatives_max ? [unclear] : [...all.values()]);
}
