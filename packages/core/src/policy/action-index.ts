import { foldName, unnamed_agent_id } from "@countersign/contract";
import type { MatchPatterns } from "./document.ts";

/** Verb and agent id are folded by `foldName`. */
export interface ActionKey {
  readonly type: string;
  readonly verb: string;
  readonly agent_id: string;
}

export type Match = MatchPatterns & { readonly exclude?: MatchPatterns };

const cached_max = 1_024;

/**
 * Finds the policies that match an action, or that may match it for an unnamed caller (`isAgentUnknown`). Policies are
 * indexed by actions, else verbs, else agents, so policies about other actions cost nothing.
 *
 * Results are cached by names that occur in policies. Equal results share one list, which callers must not change.
 */
export class ActionIndex {
  private readonly matches: readonly Match[];
  private readonly byType = new PatternTable();
  private readonly byVerb = new PatternTable();
  private readonly byAgent = new PatternTable();
  private readonly always: number[] = [];
  private readonly verbs_matter: boolean;
  private readonly agents_matter: boolean;
  private readonly cache = new Map<string, Map<string, Map<string, readonly number[]>>>();
  private readonly lists = new Map<string, readonly number[]>();
  private cached = 0;

  constructor(written: readonly Match[]) {
    const matches = written.map(folded);
    this.matches = matches;
    this.verbs_matter = matches.some(({ verbs, exclude }) => isNamed(verbs) || isNamed(exclude?.verbs));
    this.agents_matter = matches.some(({ agents, exclude }) => isNamed(agents) || isNamed(exclude?.agents));
    matches.forEach((match, position) => {
      if (isNamed(match.actions)) this.byType.add(match.actions, position);
      else if (isNamed(match.verbs)) this.byVerb.add(match.verbs, position);
      else if (isNamed(match.agents)) this.byAgent.add(match.agents, position);
      else this.always.push(position);
    });
  }

  /** In ascending order. */
  candidates(key: ActionKey): readonly number[] {
    const verb = this.verbs_matter ? key.verb : "";
    const agent_id = this.agents_matter ? key.agent_id : "";
    const known = this.cache.get(key.type)?.get(verb)?.get(agent_id);
    return known ?? this.remember({ type: key.type, verb, agent_id });
  }

  private find(key: ActionKey): readonly number[] {
    const filed = new Set(this.always);
    this.byType.collect(key.type, filed);
    this.byVerb.collect(key.verb, filed);
    if (key.agent_id === unnamed_agent_id) this.byAgent.collectAll(filed);
    else this.byAgent.collect(key.agent_id, filed);
    const matching = [...filed].filter((position) => {
      const match = this.matches[position];
      return match !== undefined && accepts(match, "agents", key.agent_id) && fitsKey(match, key);
    });
    return matching.sort((a, b) => a - b);
  }

  private remember(key: ActionKey): readonly number[] {
    // Callers choose the names, so a full cache is cleared.
    if (this.cached >= cached_max) {
      this.cache.clear();
      this.lists.clear();
      this.cached = 0;
    }
    this.cached += 1;
    const found = this.find(key);
    const text = found.join();
    const list = this.lists.get(text) ?? found;
    this.lists.set(text, list);
    entry(entry(this.cache, key.type), key.verb).set(key.agent_id, list);
    return list;
  }
}

class PatternTable {
  private readonly exact = new Map<string, number[]>();
  private readonly prefixes = new Map<string, number[]>();
  private readonly lengths = new Set<number>();

  add(patterns: readonly string[], position: number): void {
    for (const pattern of patterns) {
      const prefix = pattern.endsWith("*");
      const table = prefix ? this.prefixes : this.exact;
      const name = prefix ? pattern.slice(0, -1) : pattern;
      const positions = table.get(name);
      if (positions === undefined) table.set(name, [position]);
      else positions.push(position);
      if (prefix) this.lengths.add(name.length);
    }
  }

  collectAll(into: Set<number>): void {
    for (const table of [this.exact, this.prefixes])
      for (const positions of table.values()) for (const position of positions) into.add(position);
  }

  collect(name: string, into: Set<number>): void {
    for (const position of this.exact.get(name) ?? []) into.add(position);
    for (const length of this.lengths) {
      if (length > name.length) continue;
      for (const position of this.prefixes.get(name.slice(0, length)) ?? []) into.add(position);
    }
  }
}

function entry<V>(map: Map<string, Map<string, V>>, name: string): Map<string, V> {
  const known = map.get(name);
  if (known !== undefined) return known;
  const made = new Map<string, V>();
  map.set(name, made);
  return made;
}

function isNamed(patterns: readonly string[] | undefined): patterns is readonly string[] {
  return patterns !== undefined && patterns.length > 0;
}

/** True if an unnamed caller may or may not match. A pattern that fits `unnamed_agent_id` itself always matches. */
export function isAgentUnknown(written: Match): boolean {
  const { agents, exclude } = folded(written);
  return !fits(agents, unnamed_agent_id) || isNamed(exclude?.agents);
}

/** Action types are already in lower case. */
export function folded({ exclude, ...match }: Match): Match {
  const names = ({ verbs, agents, ...others }: MatchPatterns): MatchPatterns => ({
    ...others,
    ...(verbs !== undefined && { verbs: verbs.map(foldName) }),
    ...(agents !== undefined && { agents: agents.map(foldName) }),
  });
  return { ...names(match), ...(exclude !== undefined && { exclude: names(exclude) }) };
}

/** Ignores agents. `verb` is as written. */
export function fitsAction(written: Match = {}, { type, verb }: Pick<ActionKey, "type" | "verb">): boolean {
  return fitsKey(folded(written), { type, verb: foldName(verb) });
}

function fitsKey(match: Match, { type, verb }: Pick<ActionKey, "type" | "verb">): boolean {
  return accepts(match, "actions", type) && accepts(match, "verbs", verb);
}

/** Patterns must be folded. An unnamed caller may be any agent that a policy names. */
export function accepts(match: Match, kind: keyof MatchPatterns, name: string): boolean {
  const is_unnamed = kind === "agents" && name === unnamed_agent_id;
  const excluded = match.exclude?.[kind];
  return (is_unnamed || fits(match[kind], name)) && !(isNamed(excluded) && fits(excluded, name));
}

function fits(patterns: readonly string[] | undefined, name: string): boolean {
  if (!isNamed(patterns)) return true;
  return patterns.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
}
