/** Collects the effects of a command, as far as its text shows them. */
import { kindsOf } from "./kinds.ts";
import { isOutside, type Place, resolvedAll } from "./paths.ts";
import type { Arg, Scope } from "./words.ts";

export const effectNames = [
  "unclear",
  "runs",
  "reads",
  "writes",
  "deletes",
  "outside",
  "hosts",
  "sends",
  "installs",
  "code",
  "unseen",
  "variables",
  "elevated",
  "kinds",
] as const;

export type EffectName = (typeof effectNames)[number];
export type Effects = Readonly<Record<EffectName, readonly string[]>>;

/** Longer entries are cut, so that a rule's patterns stay cheap. Code is cut later. */
const entry_chars_max = 1_000;
const code_chars_max = 20_000;

/** Files that no write changes. */
const sinks = /^\/dev\/(?:null|stdout|stderr|stdin|tty|zero|fd\/\d+)$/;

export class Collected {
  readonly place: Place;
  readonly #found: Readonly<Record<EffectName, Set<string>>>;

  constructor(place: Place) {
    this.place = place;
    this.#found = Object.fromEntries(effectNames.map((name) => [name, new Set()])) as never;
  }

  add(name: EffectName, text: string): void {
    const chars_max = name === "code" ? code_chars_max : entry_chars_max;
    if (text.length > chars_max) this.#found.unclear.add(`${name}: longer than ${chars_max} characters`);
    this.#found[name].add(text.slice(0, chars_max));
  }

  read(arg: Arg, scope: Scope): void {
    for (const path of resolvedAll(arg, scope, this.place)) this.add("reads", path);
  }

  /** `kind`: writes or deletes. A target that the script does not show is unclear. */
  change(kind: "writes" | "deletes", arg: Arg, scope: Scope): void {
    if (arg.text === "" || arg.text === "-") return;
    if (!arg.clear) return void this.add("unclear", `${kind}: ${arg.text}`);
    for (const path of resolvedAll(arg, scope, this.place)) {
      if (sinks.test(path)) continue;
      this.add(kind, path);
      if (isOutside(path, this.place)) this.add("outside", path);
      if (scope.cwds.includes(null) && !/^[/~]/.test(path)) this.add("unclear", `${kind}: ${path} after a cd`);
    }
  }

  effects(): Effects {
    const found = Object.fromEntries(effectNames.map((name) => [name, [...this.#found[name]]])) as unknown as Effects;
    return { ...found, kinds: kindsOf(found, this.place.workspace) };
  }
}
