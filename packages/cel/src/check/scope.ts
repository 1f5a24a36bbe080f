import type { Type } from "./type.ts";

export interface Local {
  readonly name: string;
  readonly type: Type;
  readonly slot: number;
  readonly outer: Local | null;
}

export type Reference =
  | { readonly kind: "local"; readonly local: Local }
  | { readonly kind: "variable"; readonly name: string; readonly type: Type }
  | { readonly kind: "type"; readonly name: string; readonly type: Type };

export function findLocal(scope: Local | null, name: string): Local | null {
  for (let s = scope; s !== null; s = s.outer) if (s.name === name) return s;
  return null;
}

export function slotsUsed(scope: Local | null): number {
  return scope === null ? 0 : scope.slot + 1;
}

/** Returns full names, most specific first: in `a.b`, `x` is `a.b.x`, `a.x`, `x`. */
export function candidates(container: string, name: string): string[] {
  const found: string[] = [];
  for (let c = container; c !== ""; c = c.includes(".") ? c.slice(0, c.lastIndexOf(".")) : "")
    found.push(`${c}.${name}`);
  found.push(name);
  return found;
}
