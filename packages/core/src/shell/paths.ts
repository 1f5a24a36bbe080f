/** Paths as texts. Knows no files: links and mounts of the machine can lead elsewhere. */
import type { Arg, Scope } from "./words.ts";

export interface Place {
  /** Root of the project; null: unknown. */
  readonly workspace: string | null;
  /** Home directory if the workspace shows it. */
  readonly home: string | null;
}

export function placeOf(workspace: string | null): Place {
  const home = workspace === null ? undefined : /^(?:\/home\/[^/]+|\/Users\/[^/]+|\/root)(?=\/|$)/.exec(workspace)?.[0];
  return { workspace: workspace === null ? null : normal(workspace), home: home ?? null };
}

/** Returns the path without empty parts, `.`, and `..` after a name; `.` for the directory itself. */
export function normal(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    const is_back = part === ".." && (path.startsWith("/") || (parts.length > 0 && parts.at(-1) !== ".."));
    if (is_back) parts.pop();
    else parts.push(part);
  }
  return path.startsWith("/") ? `/${parts.join("/")}` : parts.join("/") || ".";
}

/** Returns the path from the root, or from an unknown directory. `~` stays if the home directory is unknown. */
function resolved(path: string, cwd: string | null, { home }: Place): string {
  if (/^~(?=\/|$)/.test(path)) return normal(home === null ? path : home + path.slice(1));
  if (path.startsWith("/") || path.startsWith("~") || cwd === null) return normal(path);
  return normal(`${cwd}/${path}`);
}

/** Returns the path from each directory that may be the current one. */
export function resolvedAll({ text }: Arg, { cwds }: Scope, place: Place): readonly string[] {
  return [...new Set(cwds.map((cwd) => resolved(text, cwd, place)))];
}

/** Returns whether a resolved path is outside the workspace. If the workspace is unknown, relative paths are inside. */
export function isOutside(path: string, { workspace }: Place): boolean {
  if (workspace !== null && (path === workspace || path.startsWith(workspace === "/" ? "/" : `${workspace}/`)))
    return false;
  return path.startsWith("/") || path.startsWith("~") || path === ".." || path.startsWith("../");
}
