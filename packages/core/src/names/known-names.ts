import { foldName } from "@countersign/contract";
import type { NameKind, NamePart, NameSource, PolicyNames } from "./policy-names.ts";
import { areOtherNumbers, type Cell, cellsOf, skeletonsOf, withPart } from "./skeleton.ts";

export interface Likeness {
  readonly known: string;
  /** False for a text in an expression, which may have another meaning. */
  readonly is_named: boolean;
}

export interface AgentNames {
  like(agent_id: string): readonly Likeness[];
}

export type KnownNamesByKind = Readonly<Record<NameKind, KnownNames>>;

const none: readonly never[] = Object.freeze([]);
const cached_max = 1_024;
const cached_chars_max = 256;

class NameTable {
  /** Folded names. */
  readonly names = new Set<string>();
  readonly literals = new Set<string>();
  readonly namesBySkeleton = new Map<string, Set<string>>();
  readonly literalsBySkeleton = new Map<string, Set<string>>();
  readonly prefixesBySkeleton = new Map<string, Set<string>>();
  readonly parts = new Map<string, NamePart>();

  constructor(sources: readonly NameSource[]) {
    for (const { names, prefixes, literals, parts } of sources) {
      for (const prefix of prefixes) addTo(this.prefixesBySkeleton, prefix);
      for (const part of parts) this.parts.set(`${part.place} ${part.text}`, part);
      for (const name of names) {
        this.names.add(foldName(name));
        addTo(this.namesBySkeleton, name);
      }
      for (const literal of literals) {
        this.literals.add(literal);
        addTo(this.literalsBySkeleton, literal);
      }
    }
  }

  get is_empty(): boolean {
    return [this.names, this.literals, this.prefixesBySkeleton, this.parts].every(({ size }) => size === 0);
  }
}

class KnownNames {
  private readonly tables: readonly NameTable[];
  private readonly cache = new Map<string, readonly Likeness[]>();
  readonly is_empty: boolean;

  constructor(tables: readonly NameTable[]) {
    this.tables = tables.filter((table) => !table.is_empty);
    this.is_empty = this.tables.length === 0;
  }

  /** Returns the known names that a name looks like. None if the name is known. */
  like(name: string): readonly Likeness[] {
    if (this.is_empty) return none;
    const known = this.cache.get(name);
    if (known !== undefined) return known;
    const found = this.find(name);
    if (name.length > cached_chars_max) return found;
    // Callers choose names, so the cache must be bounded.
    if (this.cache.size >= cached_max) this.cache.clear();
    this.cache.set(name, found);
    return found;
  }

  private find(name: string): readonly Likeness[] {
    const folded = foldName(name);
    const is_known = this.tables.some(({ names, literals }) => names.has(folded) || literals.has(name));
    const skeletons = skeletonsOf(name).filter((skeleton) => skeleton !== "");
    const found = new Map<string, boolean>();
    for (const { literalsBySkeleton } of this.tables) {
      for (const known of alike(literalsBySkeleton, skeletons)) {
        // Expressions do not fold names, so another spelling of a known name does not match.
        const is_other = is_known ? foldName(known) !== folded : areOtherNumbers(name, known);
        if (known !== name && !is_other) found.set(known, false);
      }
    }
    if (!is_known) {
      for (const { namesBySkeleton } of this.tables)
        for (const known of alike(namesBySkeleton, skeletons))
          if (!areOtherNumbers(name, known)) found.set(known, true);
      for (const [known, is_named] of this.withParts(name, folded)) if (!found.has(known)) found.set(known, is_named);
    }
    return found.size === 0 ? none : Array.from(found, ([known, is_named]) => ({ known, is_named }));
  }

  /** Yields the name with look-alike prefixes and parts replaced by the known ones. */
  private *withParts(name: string, folded: string): Generator<readonly [known: string, is_named: boolean]> {
    if (this.tables.every(({ prefixesBySkeleton, parts }) => prefixesBySkeleton.size + parts.size === 0)) return;
    const cells = cellsOf(name);
    const whole = cells.map(({ letters }) => letters).join("");
    for (const { prefixesBySkeleton, parts } of this.tables) {
      for (const prefix of prefixesIn(prefixesBySkeleton, cells)) {
        const known = folded.startsWith(foldName(prefix)) ? null : withPart(cells, prefix, "start");
        if (known !== null) yield [known, true];
      }
      for (const { text, place } of parts.values()) {
        const known = whole.includes(skeletonsOf(text)[0] ?? "") ? withPart(cells, text, place) : null;
        if (known !== null && known !== name) yield [known, false];
      }
    }
  }
}

function alike(table: ReadonlyMap<string, ReadonlySet<string>>, skeletons: readonly string[]): string[] {
  return skeletons.flatMap((skeleton) => [...(table.get(skeleton) ?? none)]);
}

/** Yields the prefixes that the name begins with. Does not scan the table, which may have thousands of entries. */
function* prefixesIn(table: ReadonlyMap<string, ReadonlySet<string>>, cells: readonly Cell[]): Generator<string> {
  let letters = "";
  for (const cell of table.size === 0 ? none : cells) {
    if (cell.letters === "") continue;
    letters += cell.letters;
    yield* table.get(letters) ?? none;
  }
}

function addTo(table: Map<string, Set<string>>, name: string): void {
  for (const skeleton of skeletonsOf(name)) table.set(skeleton, (table.get(skeleton) ?? new Set()).add(name));
}

/** Collects the names of policies. The result adds the verbs of a catalogue. */
export function knownNames(
  policies: readonly PolicyNames[],
): (catalogue: readonly { readonly verb: string }[]) => KnownNamesByKind {
  const verbs = new NameTable(policies.map((each) => each.verb));
  const agent = new KnownNames([new NameTable(policies.map((each) => each.agent))]);
  const target = new KnownNames([new NameTable(policies.map((each) => each.target))]);
  return (catalogue) => {
    const tools = new NameTable([sourceOf(catalogue.map((entry) => entry.verb))]);
    return { verb: new KnownNames([tools, verbs]), agent, target };
  };
}

export function agentNames(agent_ids: readonly string[]): AgentNames {
  return new KnownNames([new NameTable([sourceOf(agent_ids)])]);
}

function sourceOf(names: readonly string[]): NameSource {
  return { names, prefixes: none, literals: none, parts: none };
}
