import type { Escalation } from "@countersign/contract";
import { useMemo } from "react";
import type { Group } from "../../review/escalation-data.ts";

const separator = ".";

/** The selected reviews that are in the list. The address keeps them, as `selected`. */
export function useSelection(
  rows: readonly Escalation[],
  selected: string | undefined,
  setFilters: (change: { readonly selected: string }) => void,
) {
  const ids = useMemo(() => new Set(selected?.split(separator)), [selected]);
  const members = rows.filter((each) => ids.has(each.escalation_id) && each.status === "pending");
  const set = (next: Iterable<string>) => setFilters({ selected: [...next].join(separator) });
  const has = ({ members: all }: Pick<Group, "members">) => all.every((each) => ids.has(each.escalation_id));
  return {
    members,
    has,
    /** Some are selected, but not all. */
    hasSome: (group: Pick<Group, "members">) =>
      !has(group) && group.members.some(({ escalation_id }) => ids.has(escalation_id)),
    clear: () => set([]),
    all: () => set(rows.map(({ escalation_id }) => escalation_id)),
    /** Selects all members, or none if all are selected. */
    toggle: (group: Pick<Group, "members">) => {
      const next = new Set(members.map(({ escalation_id }) => escalation_id));
      const adds = !has(group);
      for (const { escalation_id } of group.members) {
        if (adds) next.add(escalation_id);
        else next.delete(escalation_id);
      }
      set(next);
    },
  };
}

export type Selection = ReturnType<typeof useSelection>;
