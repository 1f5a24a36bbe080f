import { frameworkSpellings, notApplicableWords } from "./tables/frameworks.ts";
import { at, given, isRecord, phrase, squash } from "./text.ts";

export type FrameworkState = "yes" | "no" | "unknown";

const depth_max = 12;
/**
 * Text after a framework's name: version, level or section. No word may be composed of others, because a long text
 * could then be read in too many ways.
 */
const version =
  /^(?:\d|v|version|r|rev|revision|i|l|level|low|moderate|medium|high|impact|saas|baseline|tailored|section|act|x)*$/;
/** Maximum words of a text, and after a framework's name. Longer texts mean something else. */
const words_max = 16;
const words_after_max = 6;
const denying = /^(?:no|not|non|never|none|na|n|exempt|excluded|out|outside|except|inapplicable|without|instead)$/;
const between = /[,;/&+|\n]|\sand\s/i;
const scopeKeys = new Set(["applicable", "applies", "inscope", "enabled", "required", "active", "status", "scope"]);

/** Stops at the first "yes", the most protective finding. */
class Search {
  readonly spellings: readonly string[];
  no = false;

  constructor(name: string) {
    const word = squash(name);
    this.spellings = frameworkSpellings.get(word) ?? [word];
  }

  names(text: string): boolean {
    return this.isName(text) || text.split(between).some((part) => this.isName(part));
  }

  /**
   * Returns true if a text begins with the name: "CMMC Level 2 (C3PAO)". A match may mean yes, never no: "GDPR (UK)" in
   * a list of inapplicable frameworks does not exclude the GDPR.
   */
  private begins(text: string): boolean {
    return text.split(between).some((part) => {
      const parts = phrase(part).split(" ");
      if (parts.length > words_max) return false;
      const end = parts.findIndex((_, at) => this.isName(parts.slice(0, at + 1).join("")));
      const after = end < 0 ? [] : parts.slice(end + 1);
      return end >= 0 && after.length <= words_after_max && !after.some((word) => denying.test(word));
    });
  }

  private isName(text: string): boolean {
    const word = squash(text);
    return this.spellings.some((spelling) => word.startsWith(spelling) && version.test(word.slice(spelling.length)));
  }

  /** `denied`: a key above says that the listed frameworks do not apply. */
  finds(value: unknown, denied: boolean, depth: number): boolean {
    if (depth > depth_max) return false;
    if (typeof value === "string")
      return this.names(value) ? this.settle(!denied) : !denied && this.begins(value) && this.settle(true);
    if (Array.isArray(value)) return value.some((entry) => this.finds(entry, denied, depth + 1));
    if (!isRecord(value)) return false;
    return Object.entries(value).some(([key, inner]) =>
      this.names(key)
        ? this.settles(inner, denied)
        : this.finds(inner, denied || notApplicableWords.has(squash(key)), depth + 1),
    );
  }

  private settles(value: unknown, denied: boolean): boolean {
    const state = said(value);
    return state === "unknown" ? false : this.settle(state === "yes" && !denied);
  }

  private settle(applies: boolean): boolean {
    if (!applies) this.no = true;
    return applies;
  }
}

/** Returns the meaning of the value beside a framework's name. Content means yes. */
const said = (value: unknown): FrameworkState => {
  if (value === null || value === undefined) return "unknown";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") {
    const word = squash(value);
    if (word === "" || word === "unknown" || word === "tbd") return "unknown";
    return notApplicableWords.has(word) || word.startsWith("notapplicable") ? "no" : "yes";
  }
  if (Array.isArray(value)) return value.length === 0 ? "unknown" : "yes";
  if (!isRecord(value)) return typeof value === "number" && value === 0 ? "no" : "yes";
  const flags = Object.entries(value).filter(([key]) => scopeKeys.has(squash(key)));
  const states = flags.map(([, flag]) => said(flag));
  if (states.includes("yes")) return "yes";
  if (states.includes("no")) return "no";
  return Object.keys(value).length === 0 ? "unknown" : "yes";
};

/** Cached, because about ten policies ask the same questions about the same facts. */
const answers = new WeakMap<object, Map<string, FrameworkState>>();

/**
 * Returns whether `regulatory.applicable_frameworks` names the framework as applying. Searches at any depth, ignoring
 * case and punctuation. "yes" wins over "no".
 */
export const framework = (facts: unknown, name: unknown): FrameworkState => {
  const value = at(facts, "regulatory", "applicable_frameworks");
  if (typeof name !== "string" || !given(value)) return "unknown";
  if (typeof value !== "object" || value === null) return look(value, name);
  const known = answers.get(value) ?? new Map<string, FrameworkState>();
  const answer = known.get(name) ?? look(value, name);
  answers.set(value, known.set(name, answer));
  return answer;
};

const look = (value: unknown, name: string): FrameworkState => {
  if (squash(name) === "") return "unknown";
  const search = new Search(name);
  if (search.finds(value, false, 0)) return "yes";
  return search.no ? "no" : "unknown";
};
