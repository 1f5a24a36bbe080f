import type { ApprovalChange } from "@countersign/contract";
import { isObject } from "../../parts/records/json-lines.ts";

type Content = Readonly<Record<string, unknown>>;

/**
 * Returns the parameters with the changes; null if reviewers cannot make them: they cannot change facts, `present` has
 * only an example value, and a parent may not be an object. The time `now` is an alternative to the changes.
 */
export function fillIn(content: Content, changes: readonly ApprovalChange[]): Content | null {
  const made = changes.filter(({ path }) => path !== "now");
  let filled: Content | null = made.length === 0 ? null : content;
  for (const { path, op, value } of made) {
    const [root, ...names] = path.split(".");
    if (filled === null || root !== "params" || op === "present") return null;
    filled = changed(filled, names, op === "absent" ? undefined : value);
  }
  return filled;
}

/** `value` undefined removes the place. Returns null if the place cannot exist. */
function changed(content: Content, [name = "", ...names]: readonly string[], value: unknown): Content | null {
  const { [name]: before, ...rest } = content;
  if (names.length === 0) return value === undefined ? rest : { ...content, [name]: value };
  const inner = Object.hasOwn(content, name) ? before : {};
  const after = isObject(inner) ? changed(inner, names, value) : null;
  return after === null ? null : { ...content, [name]: after };
}
