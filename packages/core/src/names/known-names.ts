import { foldName } from "@countersign/contract";
import type { NameKind, NamePart, NameSource, PolicyNames } from "./policy-names.ts";
import { areOtherNumbers, skeletonsOf, withPart } from "./skeleton.ts";

/** A known name that another name looks like. */
export interface Likeness {
  readonly known: string;
  /** Whether `match` or the catalogue names it. Else it is a text in an expression, which may be about something else. */
  readonly is_named: boolean;
}

/** Known agent ids. */
export interface AgentNames {
  /** Returns the known ids that an id looks like; mostly none. */
  like(agent_id: string): readonly Likeness[];
}

/** The known names of each kind. */
export type KnownNamesByKind = Readonly<Record<NameKind, KnownNames>>;

const none: readonly never[] = Object.freeze([]);
const cached_max = 1_024;
const cached_chars_max = 256;

/** The names of one kind that rules and the catalogue know. Finds those that another name looks like. */
class KnownNames {
  /** Folded. */
  private readonly names = new Set<string>();
  private readonly literals = new Set<string>();
  private readonly prefixes = new Set<string>();
  private readonly parts = new Map<string, NamePart>();
  private readonly namesBySkeleton = new Map<string, Set<string>>();
  private readonly literalsBySkeleton = new Map<string, Set<string>>();
  private readonly cache = new Map<string, readonly Likeness[]>();
  readonly is_empty: boolean;

  constructor(sources: readonly NameSource[]) {
    for (const { names, prefixes, literals, parts } of sources) {
      for (const prefix of prefixes) this.prefixes.add(prefix);
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
    this.is_empty = [this.names, this.prefixes, this.literals, this.parts].every(({ size }) => size === 0);
  }

  /** Returns the known names that a name looks like; mostly none. A name that is known itself looks like no other name. */
  like(name: string): readonly Likeness[] {
    if (this.is_empty) return none;
    const known = this.cache.get(name);
    if (known !== undefined) return known;
    const found = this.find(name);
    if (name.length > cached_chars_max) return found;
    // Callers choose names, so the cache is cleared when it is full.
    if (this.cache.size >= cached_max) this.cache.clear();
    this.cache.set(name, found);
    return found;
  }

  private find(name: string): readonly Likeness[] {
    const folded = foldName(name);
    const is_known = this.names.has(folded) || this.literals.has(name);
    const found = new Map<string, boolean>();
    const skeletons = skeletonsOf(name).filter((skeleton) => skeleton !== "");
    const alike = (table: ReadonlyMap<string, ReadonlySet<string>>): string[] =>
      skeletons.flatMap((skeleton) => [...(table.get(skeleton) ?? none)]);
    for (const known of alike(this.literalsBySkeleton)) {
      // An expression does not fold names, so another spelling of a known name is none to it.
      const is_other = is_known ? foldName(known) !== folded : areOtherNumbers(name, known);
      if (known !== name && !is_other) found.set(known, false);
    }
    if (is_known) return likenesses(found);
    for (const known of alike(this.namesBySkeleton)) if (!areOtherNumbers(name, known)) found.set(known, true);
    for (const prefix of this.prefixes) {
      const known = folded.startsWith(foldName(prefix)) ? null : withPart(name, prefix, "start");
      if (known !== null) found.set(known, true);
    }
    for (const { text, place } of this.parts.values()) {
      const known = withPart(name, text, place);
      if (known !== null && known !== name && !found.has(known)) found.set(known, false);
    }
    return likenesses(found);
  }
}

function addTo(table: Map<string, Set<string>>, name: string): void {
  for (const skeleton of skeletonsOf(name)) table.set(skeleton, (table.get(skeleton) ?? new Set()).add(name));
}

function likenesses(found: ReadonlyMap<string, boolean>): readonly Likeness[] {
  return found.size === 0 ? none : [...found].map(([known, is_named]) => ({ known, is_named }));
}

/** Collects the known names of these policies. The result adds the verbs of a catalogue to them. */
export function knownNames(
  policies: readonly PolicyNames[],
): (catalogue: readonly { readonly verb: string }[]) => KnownNamesByKind {
  const agent = new KnownNames(policies.map((each) => each.agent));
  const target = new KnownNames(policies.map((each) => each.target));
  return (catalogue) => {
    const tools = { names: catalogue.map(({ verb }) => verb), prefixes: none, literals: none, parts: none };
    return { verb: new KnownNames([tools, ...policies.map(({ verb }) => verb)]), agent, target };
  };
}

/** Collects known agent ids. */
export function agentNames(agent_ids: readonly string[]): AgentNames {
  return new KnownNames([{ names: agent_ids, prefixes: none, literals: none, parts: none }]);
}
