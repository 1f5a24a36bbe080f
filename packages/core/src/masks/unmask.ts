/**
 * Restores the original values of unchanged masks in a reviewer's change. Other masks are refused, because their value
 * is unknown.
 */
import { canonicalJson } from "../values/canonical-json.ts";
import { applyPatch, nothing, type PatchOperation, pointerNames, valueAt } from "../values/json-patch.ts";
import { mask_text } from "./mask.ts";

export interface Masked {
  readonly content: Readonly<Record<string, unknown>>;
  readonly shown: Readonly<Record<string, unknown>>;
}

/** `index`: a change with a misplaced mask. */
export type Unmasked =
  | { readonly kind: "unmasked"; readonly operations: readonly PatchOperation[] }
  | { readonly kind: "mask_changed"; readonly index: number };

/**
 * Restores the original values of masks. A mask must match the shown text at the same place. A replaced list must keep
 * its length, and its entries with masks must be unchanged, because a moved entry would get another entry's value.
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
    // Later changes refer to places after earlier ones. An inapplicable change is refused with its own reason.
    const after = applyPatch(content, [next]);
    if (!after.ok) return { kind: "unmasked", operations: [...restored, ...operations.slice(index + 1)] };
    content = after.document;
    // Masked values contain no further masks.
    const shown_after = applyPatch(shown, [operation]);
    if (shown_after.ok) shown = shown_after.document;
  }
  return { kind: "unmasked", operations: restored };
}

/** Returns `nothing` if a mask was changed or moved. */
function restoredValue({ op, value }: PatchOperation, names: readonly string[], { content, shown }: Masked): unknown {
  if (!holdsMask(value)) return value;
  // An inserted entry has no earlier value.
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

/** Searches texts and names. */
function holdsMask(value: unknown): boolean {
  if (typeof value === "string") return value.includes(mask_text);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, each]) => name.includes(mask_text) || holdsMask(each));
}
