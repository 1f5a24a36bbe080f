/** Keeps unsent texts of this tab, even after the session ends. */
import { useState } from "react";
import { keepDraft, keptDraft } from "../browser/storage.ts";
import { useSession } from "./session.tsx";

export function useDraftName(what: string): string {
  const { caller } = useSession();
  return `${caller?.org_id}.${caller?.id}.${what}`;
}

export function useDraft(
  what: string,
  initial = "",
): readonly [text: string, write: (text: string) => void, drop: () => void] {
  const name = useDraftName(what);
  const [text, setText] = useState(() => keptDraft(name) ?? initial);
  const write = (next: string) => {
    setText(next);
    keepDraft(name, next === initial ? null : next);
  };
  return [text, write, () => keepDraft(name, null)];
}
