/** How a reviewer rules: approve, approve with changes, block; and what operators may do besides. */
import { type Escalation, limits, type Outcome, type Reviewer } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { adviceOn } from "../api/advice.ts";
import { useDraft } from "../api/draft.ts";
import { useClient } from "../api/session.tsx";
import { Dialog } from "../parts/forms/dialog.tsx";
import { TextArea } from "../parts/forms/field.tsx";
import { Reviewers, useInHands } from "../parts/records/who.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { editableJson } from "../parts/visible-text.ts";
import { CaseLine, type Changes, ChangesOf, Ending } from "./case.tsx";
import { EditParameters, type Offered, readEdited, whyUnready } from "./edit-parameters.tsx";
import { everyReviewer, WhoDecides } from "./who-decides.tsx";

/** What the reviewer is about to do. */
export type Act = "approve" | "approve_same" | "approve_modified" | "block" | "cancel" | "reassign";

/** A mistake in the form, or what the service said to it. */
function Wrong({ error }: { readonly error: unknown }) {
  const { title, todo } = adviceOn(error);
  const rules =
    error instanceof ApiError
      ? error.details.flatMap((each) => (typeof each["policy"] === "string" ? [each["policy"]] : []))
      : [];
  return (
    <div className="banner bad" role="alert">
      <div>
        <strong>{title}</strong>
        {todo}
        {rules.length > 0 && ` Rules: ${rules.join(", ")}.`}
      </div>
    </div>
  );
}

/** What the dialog is about, and that somebody else or the clock was faster. */
function CaseOf({ escalation }: { readonly escalation: Escalation }) {
  return (
    <>
      <p>
        <CaseLine escalation={escalation} />
      </p>
      <Ending escalation={escalation} meanwhile />
    </>
  );
}

const titles: Record<Outcome, string> = {
  approve: "Approve this action",
  approve_modified: "Approve with changes",
  block: "Block this action",
};
const buttons: Record<Outcome, string> = {
  approve: "Approve",
  approve_modified: "Approve changed action",
  block: "Block",
};

/**
 * The dialog of one act. `content` is what an approval would let through, the base of changes; `same` what others changed of
 * it, for `approve_same`; `offered` the changes under which policies would have approved.
 */
export function ActDialog({
  act,
  escalation,
  content,
  same,
  offered,
  onClose,
  onDone,
}: {
  readonly act: Act;
  readonly escalation: Escalation;
  readonly content: unknown;
  readonly same: Changes | null;
  readonly offered: Offered;
  readonly onClose: () => void;
  readonly onDone: (after: Escalation) => void;
}) {
  if (act === "reassign") return <ReassignDialog escalation={escalation} onClose={onClose} onDone={onDone} />;
  if (act === "cancel") return <CancelDialog escalation={escalation} onClose={onClose} onDone={onDone} />;
  const ruling =
    act === "approve_same" ? ({ outcome: "approve_modified", same } as const) : { outcome: act, same: null };
  return <RulingDialog {...ruling} {...{ escalation, content, offered, onClose, onDone }} />;
}

interface ActProps {
  readonly escalation: Escalation;
  readonly onClose: () => void;
  readonly onDone: (after: Escalation) => void;
}

/** Runs one act; what the service then says is what every page shows. Its dialog stays while it is under way. */
function useAct(perform: () => Promise<Escalation>, said: string, { onClose, onDone, escalation }: ActProps) {
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: perform,
    onSuccess: async (after) => {
      const queryKey = ["escalations", "one", after.escalation_id];
      // A look that began before would tell of how it was.
      await queries.cancelQueries({ queryKey });
      queries.setQueryData(queryKey, after);
      toasts.done(
        after.status === "pending" && said !== "Reassigned" ? "Vote counted; more are needed" : said,
        after.status === "pending" ? undefined : "The waiting agent has its answer.",
      );
      onClose();
      onDone(after);
    },
    onSettled: (after) => {
      void queries.invalidateQueries({
        queryKey: ["escalations"],
        // What the service has just said of this one need not be asked for.
        predicate: ({ queryKey }) => after === undefined || queryKey[1] !== "one",
      });
      void queries.invalidateQueries({ queryKey: ["intents", "one", escalation.intent_id] });
      void queries.invalidateQueries({ queryKey: ["audit", escalation.intent_id] });
    },
  });
}

function RulingDialog(
  props: ActProps & {
    readonly outcome: Outcome;
    readonly content: unknown;
    readonly same: Changes | null;
    readonly offered: Offered;
  },
) {
  const { outcome, escalation, content } = props;
  // As it was looked at, whatever the others do meanwhile.
  const [same] = useState(props.same);
  const edits = outcome === "approve_modified" && same === null;
  const client = useClient();
  const [comment, setComment, dropComment] = useDraft(`comment.${escalation.escalation_id}`);
  const unchanged = useMemo(() => editableJson(content ?? {}), [content]);
  const [text, setText, dropText] = useDraft(`changes.${escalation.escalation_id}`, unchanged);
  const onClose = () => {
    dropComment();
    dropText();
    props.onClose();
  };
  const edited = useMemo(() => readEdited(content ?? {}, text), [content, text]);
  const changes = edits ? edited : null;
  const act = useAct(
    () =>
      client.decideEscalation(escalation.escalation_id, {
        outcome,
        ...(comment.trim() === "" ? {} : { comment: comment.trim() }),
        ...(changes !== null && "steps" in changes ? { modifications: [...changes.steps] } : {}),
        ...(same === null ? {} : { modifications: same }),
      }),
    outcome === "block" ? "Blocked" : "Approved",
    { ...props, onClose },
  );
  const open = escalation.status === "pending";
  const leave = () => {
    if (edits && open && text !== unchanged && !confirm("Leave without sending your changes?")) return;
    onClose();
  };
  const mine = useInHands()(escalation);
  const unready = changes === null ? null : whyUnready(changes);
  const ready = open && mine && unready === null;
  /** What kept the last press of Ctrl+Enter from sending anything; null: nothing did, or the text was changed since. */
  const [unsent, setUnsent] = useState<string | null>(null);
  const form = useRef<HTMLFormElement>(null);
  return (
    <Dialog
      title={titles[outcome]}
      // Not left while its request is under way: what came of it belongs to what was sent.
      onClose={act.isPending ? null : leave}
      onConfirm={() => form.current?.requestSubmit()}
      broad={outcome === "approve_modified"}
    >
      <form
        ref={form}
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && !act.isPending) act.mutate();
          else if (open && mine) setUnsent(unready);
        }}
      >
        <CaseOf escalation={escalation} />
        {open && !mine && (
          <div className="banner warn" role="status">
            <div>
              <strong>This has been handed to others meanwhile</strong>
              Decided by: <Reviewers reviewers={escalation.reviewers} />.
            </div>
          </div>
        )}
        {same !== null && <ChangesOf changes={same} content={content} />}
        {edits && (
          <EditParameters
            content={content ?? {}}
            text={text}
            edited={edited}
            offered={props.offered}
            onText={(edit) => {
              setText(edit);
              setUnsent(null);
            }}
          />
        )}
        <TextArea
          label="Comment (kept in the audit trail)"
          maxLength={limits.comment_chars_max}
          value={comment}
          onChange={(event) => setComment(event.target.value)}
          autoFocus={!edits}
        />
        {act.error !== null && <Wrong error={act.error} />}
        {unsent !== null && (
          <div className="banner warn" role="alert">
            <div>
              <strong>Nothing was sent</strong>
              {unsent}
            </div>
          </div>
        )}
        <div className="actions">
          <button type="button" className="button" disabled={act.isPending} onClick={leave}>
            {open ? "Cancel" : "Close"}
          </button>
          <button
            type="submit"
            className={outcome === "block" ? "button bad" : "button primary"}
            disabled={act.isPending || !ready}
          >
            {buttons[outcome]} <kbd>Ctrl ↵</kbd>
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function CancelDialog(props: ActProps) {
  const client = useClient();
  return (
    <ReasonDialog
      {...props}
      act="cancel"
      title="Cancel this review"
      button="Cancel the review"
      tone="bad"
      perform={(reason) => client.cancelEscalation(props.escalation.escalation_id, reason)}
      said="Cancelled: the action stays blocked"
    >
      <p>Nobody decides any more, and the action stays blocked.</p>
    </ReasonDialog>
  );
}

function ReassignDialog(props: ActProps) {
  const client = useClient();
  const [reviewers, setReviewers] = useState<readonly Reviewer[]>(everyReviewer);
  return (
    <ReasonDialog
      {...props}
      act="reassign"
      title="Hand to other reviewers"
      button="Hand over"
      tone="primary"
      ready={reviewers.length > 0}
      perform={(reason) =>
        client.reassignEscalation(props.escalation.escalation_id, { reviewers: [...reviewers], ...reason })
      }
      said="Reassigned"
    >
      <WhoDecides onChoose={setReviewers} />
    </ReasonDialog>
  );
}

/** What an operator does to a review besides ruling; `children` is what the act asks for or says beside its reason. */
function ReasonDialog({
  act: name,
  title,
  button,
  tone,
  ready = true,
  perform,
  said,
  children,
  ...props
}: ActProps & {
  readonly act: Act;
  readonly title: string;
  readonly button: string;
  readonly tone: "primary" | "bad";
  readonly ready?: boolean;
  readonly perform: (reason: { readonly reason?: string }) => Promise<Escalation>;
  readonly said: string;
  readonly children: ReactNode;
}) {
  const [reason, setReason, dropReason] = useDraft(`${name}.${props.escalation.escalation_id}`);
  const onClose = () => {
    dropReason();
    props.onClose();
  };
  const act = useAct(() => perform(reason.trim() === "" ? {} : { reason: reason.trim() }), said, { ...props, onClose });
  const sendable = ready && props.escalation.status === "pending";
  return (
    <Dialog title={title} onClose={act.isPending ? null : onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (sendable && !act.isPending) act.mutate();
        }}
      >
        <CaseOf escalation={props.escalation} />
        {children}
        <TextArea
          label="Reason"
          maxLength={limits.comment_chars_max}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        {act.error !== null && <Wrong error={act.error} />}
        <div className="actions">
          <button type="button" className="button" disabled={act.isPending} onClick={onClose}>
            Back
          </button>
          <button type="submit" className={`button ${tone}`} disabled={act.isPending || !sendable}>
            {button}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
