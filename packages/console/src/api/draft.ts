/** What somebody writes outlives a session that ends meanwhile, in another tab or by its time; in this tab only. */
import { useState } from "react";
import { keepDraft, keptDraft } from "../browser/storage.ts";
import { useSession } from "./session.tsx";

/** The name under which this caller's drafts are kept: whoever signs in next has drafts of its own. */
export function useDraftName(what: string): string {
  const { caller } = useSession();
  return `${caller?.org_id}.${caller?.id}.${what}`;
}

/** A text that is being written, from `initial` on: the text, how it changes, and that it was sent or dropped. */
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
