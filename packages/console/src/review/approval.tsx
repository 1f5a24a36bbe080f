/** The approval behind a decision, with a button to revoke it before an agent claims it. */
import { type Decision, limits } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { TextArea } from "../parts/forms/field.tsx";
import { Failed } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";

const isOpen = ({ execution }: Decision) => execution?.status === "none" || execution?.status === "skipped";

export function ApprovalNote({ decision }: { readonly decision: Decision }) {
  const { approval_expires_at, claim, escalation_id } = decision;
  const may = useMay("operator");
  const [asking, setAsking] = useState(false);
  if (approval_expires_at === undefined || !isOpen(decision)) return null;
  return (
    <>
      <span className="small muted">
        {"approval expires: "}
        <Time at={approval_expires_at} />
      </span>
      {may && claim === "required" && escalation_id !== null && (
        <button type="button" className="button small bad" onClick={() => setAsking(true)}>
          Revoke approval
        </button>
      )}
      {asking && escalation_id !== null && (
        <RevokeDialog escalation_id={escalation_id} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

function RevokeDialog({ escalation_id, onClose }: { readonly escalation_id: string; readonly onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [reason, setReason] = useState("");
  const revoke = useMutation({
    mutationFn: () => client.revokeApproval(escalation_id, reason.trim() === "" ? {} : { reason: reason.trim() }),
    onSuccess: () => {
      toasts.done("Approval revoked", "Nobody can claim this action now.");
      onClose();
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["intents"] });
      void queries.invalidateQueries({ queryKey: ["audit"] });
    },
  });
  return (
    <Dialog title="Revoke approval" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!revoke.isPending) revoke.mutate();
        }}
      >
        <p>Nobody can claim the action after this. An agent that still wants it must submit it again.</p>
        <TextArea
          label="Reason (kept in the audit trail)"
          maxLength={limits.comment_chars_max}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        {revoke.error !== null && <Failed error={revoke.error} />}
        <FormActions action="Revoke" disabled={revoke.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
