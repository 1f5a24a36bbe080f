/** Keeps the focus in the list of cases when a ruling removes the focused element. */
import { useEffect, useRef } from "react";
import { focusIsLost } from "../../browser/focus.ts";
import type { Group } from "../../review/escalation-data.ts";

export function useListFocus({
  chosen,
  ruled,
  alike,
}: {
  readonly chosen: string | undefined;
  readonly ruled: readonly string[];
  readonly alike: Group | null;
}) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    // The last case and the focused element are gone.
    if (chosen === undefined && ruled.length > 0 && focusIsLost()) place.current?.focus({ preventScroll: true });
  }, [chosen, ruled]);
  const group_gone = useRef(false);
  useEffect(() => {
    if (alike === null && group_gone.current) place.current?.focus({ preventScroll: true });
    group_gone.current = false;
  }, [alike]);
  return {
    place,
    /** The closed dialog would return the focus to a button of the group, which disappears. */
    takeWhenGroupIsGone: () => {
      group_gone.current = true;
    },
  };
}
