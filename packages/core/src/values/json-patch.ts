/** JSON Pointer (RFC 6901) and JSON Patch (RFC 6902). */

export interface PatchOperation {
  readonly op: "add" | "remove" | "replace";
  readonly path: string;
  readonly value?: unknown;
}

const pointer = /^\/(?:[^~]|~[01])*$/s;

/** Returns unescaped names. Empty for the whole document, "". */
export function pointerNames(path: string): string[] {
  if (path === "") return [];
  return path
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function pointerToken(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

export const nothing: unique symbol = Symbol("nothing");

/** Inherited names and `-` have no value. */
export function valueAt(document: unknown, names: readonly string[]): unknown {
  let at = document;
  for (const name of names) {
    if (typeof at !== "object" || at === null) return nothing;
    if (Array.isArray(at) && !isIndex(name)) return nothing;
    if (!Object.hasOwn(at, name)) return nothing;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

/** Returns true for digits without a leading zero (RFC 6901). */
export function isIndex(name: string): boolean {
  return /^(0|[1-9]\d{0,8})$/.test(name);
}

export type Patched<T> =
  | { readonly ok: true; readonly document: T }
  | { readonly ok: false; readonly index: number; readonly message: string };

/** `own` are the copied parts. */
export interface Draft {
  document: unknown;
  readonly own: Set<unknown>;
}

/** Copies only the parts that operations change. The document never changes. */
export function openDraft(document: unknown): Draft {
  return { document, own: new Set() };
}

/** Refuses the whole document ("") and `__proto__`. The first failed operation ends the patch (RFC 6902). */
export function applyPatch<T>(document: T, operations: readonly PatchOperation[]): Patched<T> {
  const draft = openDraft(document);
  for (const [index, operation] of operations.entries()) {
    const message = applyTo(draft, operation);
    if (message !== null) return { ok: false, index, message };
  }
  return { ok: true, document: draft.document as T };
}

export function applyTo(draft: Draft, operation: PatchOperation): string | null {
  const names = pointerNames(operation.path);
  const last = names.pop();
  if (last === undefined) return "the path must name a member of the content, such as /amount";
  if (!pointer.test(operation.path)) return `${operation.path} is not a place in the content: write a JSON Pointer`;
  if (last === "__proto__" || names.includes("__proto__")) return "__proto__ is never a field";
  const found = valueAt(draft.document, names);
  if (typeof found !== "object" || found === null) return `the parent of ${operation.path} does not exist`;
  const parent = ownAt(draft, names);
  return Array.isArray(parent) ? applyToList(parent, last, operation) : applyToObject(parent, last, operation);
}

/** Copies the object or list at an existing place, and all parents. */
function ownAt(draft: Draft, names: readonly string[]): Record<string, unknown> {
  let holder = draft as unknown as Record<string, unknown>;
  for (const key of ["document", ...names]) {
    let at = holder[key] as Record<string, unknown>;
    if (!draft.own.has(at)) {
      at = (Array.isArray(at) ? [...at] : { ...at }) as Record<string, unknown>;
      draft.own.add(at);
      holder[key] = at;
    }
    holder = at;
  }
  return holder;
}

function applyToObject(parent: Record<string, unknown>, name: string, operation: PatchOperation): string | null {
  if (operation.op !== "add" && !Object.hasOwn(parent, name)) return `${operation.path} does not exist`;
  if (operation.op === "remove") delete parent[name];
  else parent[name] = structuredClone(operation.value);
  return null;
}

function applyToList(parent: unknown[], name: string, operation: PatchOperation): string | null {
  const index = name === "-" && operation.op === "add" ? parent.length : isIndex(name) ? Number(name) : -1;
  const last = operation.op === "add" ? parent.length : parent.length - 1;
  if (index < 0 || index > last) return `${operation.path} is not an entry of the list`;
  if (operation.op === "remove") parent.splice(index, 1);
  else parent.splice(index, operation.op === "add" ? 0 : 1, structuredClone(operation.value));
  return null;
}
