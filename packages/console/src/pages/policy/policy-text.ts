/** The text in the editor: the saved one, the edited one, and a draft of an earlier visit. */
import type { Policy } from "@countersign/contract";
import { useEffect, useMemo, useRef, useState } from "react";
import { useDraftName } from "../../api/draft.ts";
import { keepDraft, keptDraft } from "../../browser/storage.ts";
import { starter, textOf } from "../../policies/document-text.ts";

export function usePolicyText(policy: Policy | null) {
  const saved = useMemo(() => (policy === null ? starter : textOf(policy.document)), [policy]);
  const draft = useDraftName(`policy.${policy?.policy_id ?? "new"}`);
  const [restored, setRestored] = useState(() => keptDraft(draft));
  const [text, setText] = useState(restored ?? saved);
  const [base, setBase] = useState(saved);
  useEffect(() => {
    // The service has a new version. The editor shows it unless the text was edited.
    setText((now) => (now === base ? saved : now));
    setBase(saved);
  }, [saved, base]);
  const dirty = text !== base;
  useEffect(() => keepDraft(draft, dirty ? text : null), [draft, dirty, text]);
  // The version on which the edit began. Saving asks before it replaces a newer one.
  const begun = useRef(policy?.version);
  useEffect(() => {
    if (!dirty) begun.current = policy?.version;
  }, [dirty, policy]);
  return {
    text,
    setText,
    dirty,
    begun,
    restored: restored !== null,
    takeBack: () => {
      setText(base);
      setRestored(null);
    },
    /** The service has saved the text. */
    settle: () => {
      setBase(text);
      setRestored(null);
      keepDraft(draft, null);
    },
  };
}

export type PolicyText = ReturnType<typeof usePolicyText>;
