/** What a reviewer may take over from a decision's `would_approve_if`. */
import type { ApprovalChange } from "@countersign/contract";
import { isObject } from "../parts/records/json-lines.ts";

type Content = Readonly<Record<string, unknown>>;

/**
 * The parameters with the changes made. Null where reviewers cannot make them: facts are not theirs to change, of `present`
 * the value is an example only, and what stands above a place may be no object.
 */
export function fillIn(content: Content, changes: readonly ApprovalChange[]): Content | null {
  let filled: Content | null = changes.length === 0 ? null : content;
  for (const { path, op, value } of changes) {
    const [root, ...names] = path.split(".");
    if (filled === null || root !== "params" || op === "present") return null;
    filled = changed(filled, names, op === "absent" ? undefined : value);
  }
  return filled;
}

/** With `value` at the place; undefined: without the place. Null: there is no such place. */
function changed(content: Content, [name = "", ...names]: readonly string[], value: unknown): Content | null {
  const { [name]: before, ...rest } = content;
  if (names.length === 0) return value === undefined ? rest : { ...content, [name]: value };
  const inner = Object.hasOwn(content, name) ? before : {};
  const after = isObject(inner) ? changed(inner, names, value) : null;
  return after === null ? null : { ...content, [name]: after };
}
