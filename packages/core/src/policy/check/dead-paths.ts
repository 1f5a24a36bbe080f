/** Finds `modify` paths that can match nothing and would leave a value visible. */
import { limits } from "@countersign/contract";
import { pointerNames } from "../../values/json-patch.ts";
import { placesOf } from "../../values/place-pattern.ts";
import type { ModifyStep, PolicyDocument } from "../document.ts";

export interface DeadPath {
  readonly path: string;
  readonly message: string;
  readonly help: string;
}

/** Depth of payload.content in a request body. */
const content_depth = 4;

/** Wrong prefixes of paths in payload.content. */
const roots = [["params"], ["payload", "content"], ["intent", "payload", "content"]];

const write_help =
  "Write the place in payload.content, such as /items/0/secret. * alone names all entries: /items/*/secret.";

/** Finds steps whose path can match nothing. Accepts an unusual path if a test of the policy has a value there. */
export function deadPaths({ spec, tests = [] }: PolicyDocument): DeadPath[] {
  const contents = tests.map(({ intent }) => (intent as { payload?: { content?: unknown } }).payload?.content);
  return (spec.modify ?? []).flatMap((step, index) => {
    const names = pointerNames(step.path);
    const message = neverMatches(step, names) ?? oddlyWritten(names);
    const is_proven = neverMatches(step, names) !== null;
    if (message === null || (!is_proven && contents.some((content) => placesOf(content, step.path).length > 0)))
      return [];
    return [{ path: `/spec/modify/${index}/path`, message, help: write_help }];
  });
}

function neverMatches({ op, value }: ModifyStep, names: readonly string[]): string | null {
  const writes = value !== undefined || op === "set" || op === "cap" || op === "floor";
  if (writes && names.includes("*"))
    return `* names many places, and ${op} changes one. Only remove, redact and mask take it.`;
  const appends = names.indexOf("-");
  if (appends >= 0 && (op !== "set" || appends < names.length - 1))
    return "The path can match nothing: - is the place after the last entry of a list.";
  const depth_max = limits.json_depth_max - content_depth;
  if (names.length > depth_max) return `The path can match nothing: no content is deeper than ${depth_max} levels.`;
  return null;
}

function oddlyWritten(names: readonly string[]): string | null {
  if (names.some((name) => /^\*{2,}$|\[(?:\d*|\*)\]$/.test(name)))
    return "The path can match nothing: a JSON Pointer has no brackets and no **.";
  if (roots.some((root) => names.length > root.length && root.every((name, at) => names[at] === name)))
    return "The path can match nothing: it begins at payload.content, so that is no part of it.";
  return null;
}
