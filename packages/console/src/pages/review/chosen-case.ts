import type { Escalation } from "@countersign/contract";
import { useCallback, useEffect, useState } from "react";

/** `chosen` comes from the page's address, which `setFilters` changes. */
export function useChosenCase(
  visible: readonly Escalation[],
  chosen: string | undefined,
  setFilters: (change: { readonly case: string }) => void,
) {
  const [called, setCalled] = useState<string>();
  /** Cases of the last ruling, which the list may still contain. */
  const [ruled, setRuled] = useState<readonly string[]>([]);
  const choose = useCallback((id: string | undefined) => setFilters({ case: id ?? "" }), [setFilters]);
  const first = visible.find(({ escalation_id }) => !ruled.includes(escalation_id))?.escalation_id;
  useEffect(() => {
    // A chosen case stays on the screen when others arrive before it or someone closes it.
    if (chosen === undefined && first !== undefined && location.pathname === "/review") choose(first);
  }, [chosen, first, choose]);
  useEffect(() => {
    document.getElementById(`entry-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const indexOf = (id: string | undefined) => visible.findIndex((each) => each.escalation_id === id);
  /** Chooses a case by keyboard, which also moves the focus to it. */
  const call = (id: string | undefined) => {
    setCalled(id);
    choose(id);
  };
  const move = (step: number) => {
    const next = visible[Math.max(0, Math.min(visible.length - 1, indexOf(chosen) + step))];
    if (next !== undefined) call(next.escalation_id);
  };
  const leave = (id: string) => {
    setRuled([id]);
    const at = indexOf(id);
    call((visible[at + 1] ?? visible[at - 1])?.escalation_id);
  };
  /** Chooses the first open case if the group contained the chosen one. Returns whether it did. */
  const leaveGroup = (closed: readonly string[]): boolean => {
    setRuled(closed);
    if (chosen === undefined || !closed.includes(chosen)) return false;
    call(visible.find(({ escalation_id }) => !closed.includes(escalation_id))?.escalation_id);
    return true;
  };
  return { chosen, called, ruled, choose, call, move, leave, leaveGroup };
}

export type ChosenCase = ReturnType<typeof useChosenCase>;
