import { pointerNames } from "../../values/json-patch.ts";
import type { ModifyStep } from "../document.ts";

export const starred_message = "A path leads to one place: * is a field of that name here, and not every entry.";
export const starred_help = "Change the list as a whole, with set and params.list.map(entry, …), or remove it.";

/** Returns the places of paths like `/items/[*]/ssn`. No field has that name, so the rule would not redact anything. */
export function starredPaths(modify: readonly ModifyStep[] = []): string[] {
  return modify.flatMap(({ path }, index) =>
    pointerNames(path).some((name) => /^\[?\*+\]?$/.test(name)) ? [`/spec/modify/${index}/path`] : [],
  );
}
