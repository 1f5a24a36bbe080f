import { type Escalation, limits, type Reviewer } from "@countersign/contract";
import { type ReactNode, useState } from "react";
import { useDraft } from "../../api/draft.ts";
import { useClient } from "../../api/session.tsx";
import { Dialog } from "../../parts/forms/dialog.tsx";
import { TextArea } from "../../parts/forms/field.tsx";
import { everyReviewer, WhoDecides } from "../who-decides.tsx";
import { type ActProps, useAct } from "./act.ts";
import { CaseOf, Wrong } from "./dialog-parts.tsx";

export function CancelDialog(props: ActProps) {
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
      <p>The review ends, and the action stays blocked.</p>
    </ReasonDialog>
  );
}

export function ReassignDialog(props: ActProps) {
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

/** Asks for a reason and performs the act. `children`: further fields and notes. */
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
  readonly act: "cancel" | "reassign";
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
