import { clipText } from "../values/clip-text.ts";

/** A line and a column, both from 1; null where a document has none. */
export interface Place {
  readonly line: number | null;
  readonly column: number | null;
}

/** What is wrong, and what to do about it. */
export interface Finding {
  readonly code: string;
  readonly message: string;
  readonly help?: string | null;
}

/** A finding at a place of a document. `path` is a JSON Pointer. */
export interface PolicyDiagnostic extends Place {
  readonly path: string;
  readonly code: string;
  readonly message: string;
  readonly help: string | null;
}

/** A value that was read from a document once, with the place of each of its parts. */
export interface Located {
  /** Null if the document cannot be read. */
  readonly value: unknown;
  /** Why the document cannot be read; empty if it can. */
  readonly diagnostics: readonly PolicyDiagnostic[];
  /**
   * Returns the place of the part at `path`, or of the nearest part around it. With `within` it is the place of the part's name
   * ("key"), or of a UTF-16 unit in the part's text.
   */
  readonly placeOf: (path: string, within?: Within) => Place;
}

/** A position within a part: its name, or the offset of a UTF-16 unit in its text. */
export type Within = number | "key";

/** The deepest nesting of a document. */
export const depth_max = 32;

/** Returns the diagnostic of a finding at the part at `path`. */
export function diagnose(
  located: Pick<Located, "placeOf">,
  path: string,
  finding: Finding,
  within?: Within,
): PolicyDiagnostic {
  return diagnosticAt(path, located.placeOf(path, within), finding);
}

/** The longest message and help text of a diagnostic. */
const text_max = 2_000;
/** The longest path of a diagnostic. A longer one ends at an earlier part. */
const path_max = 1_000;

/** Returns the diagnostic of a finding at a place. Long texts are cut, because documents may have names of any length. */
export function diagnosticAt(path: string, { line, column }: Place, finding: Finding): PolicyDiagnostic {
  const { code, message, help = null } = finding;
  const short = path.length <= path_max ? path : path.slice(0, path.lastIndexOf("/", path_max));
  return { path: short, line, column, code, message: cut(message), help: help === null ? null : cut(help) };
}

function cut(text: string): string {
  return text.length <= text_max ? text : `${clipText(text, text_max - 1)}…`;
}

/** Returns a text in quotes, cut after 64 units. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${clipText(text, 64)}…` : text);
}
