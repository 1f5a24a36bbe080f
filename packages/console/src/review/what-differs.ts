/** What near-identical actions differ in, for one ruling on all of them. */
import type { IntentRecord } from "@countersign/contract";
import { jsonLines } from "../parts/json-lines.ts";

/** A value in one action where not all have the same. `path`: JSON Pointer; `text` as JSON, null: there is none. */
export interface Difference {
  readonly path: string;
  readonly text: string | null;
}

/** Of each action what sets it apart from any of the others; empty for all of them when they ask for the same. */
export type Differences = ReadonlyMap<string, readonly Difference[]>;

const branches = new Set(["{", "}", "[", "]"]);

/** Compares documents by their leaves. */
export function whatDiffers(documents: ReadonlyMap<string, unknown>): Differences {
  const leaves = new Map(
    [...documents].map(([id, document]) => [
      id,
      new Map(jsonLines(document).flatMap(({ path, text }) => (branches.has(text) ? [] : [[path, text]]))),
    ]),
  );
  const paths = new Set([...leaves.values()].flatMap((each) => [...each.keys()]));
  const differing = [...paths].filter((path) => new Set([...leaves.values()].map((each) => each.get(path))).size > 1);
  return new Map(
    [...leaves].map(([id, each]) => [id, differing.map((path) => ({ path, text: each.get(path) ?? null }))]),
  );
}

/** What is done, to what, for whom, and with what; without what tells every action from every other. */
export function asked({ agent, action, estimated_impact, decided_as, payload }: IntentRecord): unknown {
  const { on_behalf_of, framework } = agent;
  const { target, ...deed } = action;
  return JSON.parse(
    JSON.stringify({
      on_behalf_of,
      framework,
      target,
      deed,
      decided_as,
      estimated_impact,
      parameters: payload?.content,
    }),
  );
}
