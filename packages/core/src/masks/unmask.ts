/**
 * Puts the original values back where a reviewer's change has an unchanged mask. A mask anywhere else is refused, because nobody
 * knows which value it stands for, and it must not run as a text.
 */
import { canonicalJson } from "../values/canonical-json.ts";
import { applyPatch, nothing, type PatchOperation, pointerNames, valueAt } from "../values/json-patch.ts";
import { mask_text } from "./mask.ts";

/** A content, and the same content as people see it. */
export interface Masked {
  readonly content: Readonly<Record<string, unknown>>;
  readonly shown: Readonly<Record<string, unknown>>;
}

/** The changes with original values in place of masks; or the position of a change that has a mask elsewhere. */
export type Unmasked =
  | { readonly kind: "unmasked"; readonly operations: readonly PatchOperation[] }
  | { readonly kind: "mask_changed"; readonly index: number };

/**
 * Returns these changes with the original values. A mask is unchanged if its text is exactly as people see it at the same place.
 * In a list that is replaced, the list must keep its length, and the entry with the mask must be as people see it: entries have
 * no names, so an entry that moved would get the value of another one.
 */
export function unmasked(base: Masked, operations: readonly PatchOperation[]): Unmasked {
  if (!holdsMask(operations.map(({ path, value }) => [path, value]))) return { kind: "unmasked", operations };
  let { content, shown }: Masked = base;
  const restored: PatchOperation[] = [];
  for (const [index, operation] of operations.entries()) {
    const names = pointerNames(operation.path);
    const value = restoredValue(operation, names, { content, shown });
    if (holdsMask(operation.path) || value === nothing) return { kind: "mask_changed", index };
    const next = { ...operation, ...(operation.value === undefined ? {} : { value }) };
    restored.push(next);
    // Later changes name places after the earlier ones. A change that cannot be applied is refused with its own reason.
    const after = applyPatch(content, [next]);
    if (!after.ok) return { kind: "unmasked", operations: [...restored, ...operations.slice(index + 1)] };
    content = after.document;
    // Within a masked value there is nothing that people see, so there are no masks to leave unchanged.
    const shown_after = applyPatch(shown, [operation]);
    if (shown_after.ok) shown = shown_after.document;
  }
  return { kind: "unmasked", operations: restored };
}

/** Returns the value of a change with the originals; `nothing` if a mask in it is not unchanged. */
function restoredValue({ op, value }: PatchOperation, names: readonly string[], { content, shown }: Masked): unknown {
  if (!holdsMask(value)) return value;
  // An entry that is inserted has no place yet.
  if (op === "add" && Array.isArray(valueAt(shown, names.slice(0, -1)))) return nothing;
  return restoredAt(value, valueAt(shown, names), valueAt(content, names));
}

function restoredAt(sent: unknown, shown: unknown, original: unknown): unknown {
  if (!holdsMask(sent)) return sent;
  if (typeof sent === "string") return sent === shown && original !== nothing ? original : nothing;
  if (Array.isArray(sent)) return restoredList(sent, shown, original);
  const entries: [string, unknown][] = [];
  for (const [name, each] of Object.entries(sent as object)) {
    const value = restoredAt(each, valueAt(shown, [name]), valueAt(original, [name]));
    if (value === nothing || holdsMask(name)) return nothing;
    entries.push([name, value]);
  }
  return Object.fromEntries(entries);
}

function restoredList(sent: readonly unknown[], shown: unknown, original: unknown): unknown {
  if (!Array.isArray(shown) || !Array.isArray(original) || shown.length !== sent.length) return nothing;
  const entries: unknown[] = [];
  for (const [index, each] of sent.entries()) {
    if (!holdsMask(each)) entries.push(each);
    else if (canonicalJson(each) === canonicalJson(shown[index])) entries.push(original[index]);
    else return nothing;
  }
  return entries;
}

/** Returns whether a text or a name of this JSON value has a mask. */
function holdsMask(value: unknown): boolean {
  if (typeof value === "string") return value.includes(mask_text);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, each]) => name.includes(mask_text) || holdsMask(each));
}
