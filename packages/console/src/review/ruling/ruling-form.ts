import type { Escalation, Outcome } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useMemo, useState } from "react";
import { useDraft } from "../../api/draft.ts";
import { useInHands } from "../../parts/records/who.tsx";
import { editableJson } from "../../parts/visible-text.ts";
import type { Changes } from "../case.tsx";
import { type Offered, readEdited, whyUnready } from "../changes/edit-parameters.tsx";
import { type ActProps, useAct } from "./act.ts";
import { confirmAsked, confirmOf, useConfirmedVote } from "./confirmed-vote.ts";

export interface RulingProps extends ActProps {
  readonly outcome: Outcome;
  readonly content: unknown;
  /** Characters of the action that were never on the screen. */
  readonly left_out: number;
  readonly same: Changes | null;
  readonly offered: Offered;
}

export function useRulingForm(props: RulingProps) {
  const { outcome, escalation, content } = props;
  // The changes that the reviewer saw, even if others vote meanwhile.
  const [same] = useState(props.same);
  const edits = outcome === "approve_modified" && same === null;
  const { sent, drop, ...texts } = useTexts(escalation.escalation_id);
  const parameters = useEditedParameters(escalation.escalation_id, content);
  const { edited } = parameters;
  const onClose = () => {
    drop();
    parameters.drop();
    props.onClose();
  };
  const vote = useConfirmedVote();
  const [code, setCode] = useState("");
  const [second_person, setSecondPerson] = useState(false);
  const act = useAct(
    () =>
      vote(escalation.escalation_id, {
        outcome,
        ...sent,
        ...(edits && "steps" in edited ? { modifications: [...edited.steps] } : {}),
        ...(same === null ? {} : { modifications: same }),
        ...(second_person ? { second_person } : {}),
        ...(code.trim() === "" ? {} : { confirmation: { totp: code.trim() } }),
      }),
    outcome === "block" ? "Blocked" : "Approved",
    { ...props, onClose },
  );
  const open = escalation.status === "pending";
  const mine = useInHands()(escalation);
  const unready = edits ? whyUnready(edited) : null;
  const sendable = open && mine && unready === null;
  /** Why the last Ctrl+Enter sent nothing; null: it sent the form, or the text changed since. */
  const [unsent, setUnsent] = useState<string | null>(null);
  return {
    same,
    edits,
    ...texts,
    parameters,
    act,
    open,
    mine,
    ready: sendable && !act.isPending,
    /** The approval was too fast: it needs a reason or a second person. */
    too_fast: act.error instanceof ApiError && act.error.code === "reason_required",
    second_person,
    setSecondPerson,
    ...confirming(escalation, act.error, code),
    setCode,
    unsent,
    write: (text: string) => {
      parameters.setText(text);
      setUnsent(null);
    },
    submit: () => {
      if (sendable && !act.isPending) act.mutate();
      else if (open && mine) setUnsent(unready);
    },
    /** Asks first if changes would be lost. */
    leave: () => {
      if (edits && open && parameters.changed && !confirm("Leave without sending your changes?")) return;
      onClose();
    },
  };
}

export type RulingForm = ReturnType<typeof useRulingForm>;

/** `asked`: the confirmation that the last answer asked for; null: none. `code`: null if no code is asked for. */
function confirming(escalation: Escalation, error: unknown, code: string) {
  const asked = confirmAsked(error);
  return { asked, code: asked === "totp" || confirmOf(escalation) === "totp" ? code : null };
}

/** The texts of a ruling, kept as drafts. */
function useTexts(escalation_id: string) {
  const [comment, setComment, dropComment] = useDraft(`comment.${escalation_id}`);
  const [message, setMessage, dropMessage] = useDraft(`message.${escalation_id}`);
  const drop = () => {
    dropComment();
    dropMessage();
  };
  const sent = {
    ...(comment.trim() === "" ? {} : { comment: comment.trim() }),
    ...(message.trim() === "" ? {} : { message_to_agent: message.trim() }),
  };
  return { comment, setComment, message, setMessage, sent, drop };
}

/** The action's parameters as JSON text, kept as a draft. */
function useEditedParameters(escalation_id: string, content: unknown) {
  const unchanged = useMemo(() => editableJson(content ?? {}), [content]);
  const [text, setText, drop] = useDraft(`changes.${escalation_id}`, unchanged);
  const edited = useMemo(() => readEdited(content ?? {}, text), [content, text]);
  return { text, setText, drop, edited, changed: text !== unchanged };
}
