import { clipText } from "../values/clip-text.ts";

/** Both from 1; null if unknown. */
export interface Place {
  readonly line: number | null;
  readonly column: number | null;
}

export interface Finding {
  readonly code: string;
  readonly message: string;
  readonly help?: string | null;
}

/** `path` is a JSON Pointer. */
export interface PolicyDiagnostic extends Place {
  readonly path: string;
  readonly code: string;
  readonly message: string;
  readonly help: string | null;
}

export interface Located {
  /** Null if the document cannot be read. */
  readonly value: unknown;
  readonly diagnostics: readonly PolicyDiagnostic[];
  /** Returns the place of the part at `path`, or of the nearest enclosing part. */
  readonly placeOf: (path: string, within?: Within) => Place;
}

/** The part's name, or an offset in UTF-16 units. */
export type Within = number | "key";

export const depth_max = 32;

export function diagnose(
  located: Pick<Located, "placeOf">,
  path: string,
  finding: Finding,
  within?: Within,
): PolicyDiagnostic {
  return diagnosticAt(path, located.placeOf(path, within), finding);
}

const text_max = 2_000;
const path_max = 1_000;

/** Truncates, because names may have any length. */
export function diagnosticAt(path: string, { line, column }: Place, finding: Finding): PolicyDiagnostic {
  const { code, message, help = null } = finding;
  const short = path.length <= path_max ? path : path.slice(0, path.lastIndexOf("/", path_max));
  return { path: short, line, column, code, message: cut(message), help: help === null ? null : cut(help) };
}

function cut(text: string): string {
  return text.length <= text_max ? text : `${clipText(text, text_max - 1)}…`;
}

/** Quotes a text, truncated to 64 units. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${clipText(text, 64)}…` : text);
}
