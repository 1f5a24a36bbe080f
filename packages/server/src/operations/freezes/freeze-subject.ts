import { type Freeze, type FreezeKind, foldName } from "@countersign/contract";
import { Fault } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { FreezeKey } from "../../store/freezes/freezes.ts";
import { readKeyLineage } from "../../store/keys/keys.ts";

export interface FreezeTarget {
  readonly kind: FreezeKind;
  readonly name: string;
}

/** Returns the stored form of a target. A key represents its chain of rotations. Faults: not_found (a key). */
export async function subjectOf(
  query: Query,
  org_id: string,
  { kind, name }: FreezeTarget,
): Promise<FreezeKey & Pick<Freeze, "name">> {
  switch (kind) {
    case "agent":
      return { kind, name, subject: foldName(name) };
    case "organization":
      return { kind, name, subject: "" };
    case "key": {
      const lineage_id = await readKeyLineage(query, org_id, name);
      if (lineage_id === undefined) throw new Fault("not_found");
      return { kind, name, subject: lineage_id };
    }
    default:
      return kind satisfies never;
  }
}
