/** Takes, comments on and snoozes reviews. None of these decides. */
import { type Escalation, limits } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useSession } from "../../api/session.tsx";
import { nowMs } from "../../browser/clock.ts";
import { Dialog, FormActions } from "../../parts/forms/dialog.tsx";
import { SelectField, TextArea } from "../../parts/forms/field.tsx";
import { Failed } from "../../parts/states.tsx";
import { useToasts } from "../../parts/toasts.tsx";
import { useKeys } from "../shortcuts.tsx";

type Mark = "comment" | "snooze";

/** `keys`: the single-key shortcuts are for these buttons. */
export function Marks({
  members,
  keys = false,
  onDone = () => undefined,
}: {
  readonly members: readonly Escalation[];
  readonly keys?: boolean;
  readonly onDone?: () => void;
}) {
  const client = useClient();
  const { caller } = useSession();
  const [asking, setAsking] = useState<Mark | null>(null);
  const mine = members.every(({ taken }) => taken !== undefined && taken.by === caller?.person);
  const snoozed = members.every(({ snoozed_until }) => snoozed_until !== undefined);
  const take = useMark(
    members,
    mine ? "Given back" : "Taken",
    (id) => client.takeEscalation(id, { taken: !mine }),
    onDone,
  );
  const wake = useMark(members, "Back in your queue", (id) => client.snoozeEscalation(id, null), onDone);
  const claim = () => {
    if (!take.isPending) take.mutate();
  };
  const snooze = () => (snoozed ? wake.mutate() : setAsking("snooze"));
  useKeys(keys ? { c: claim, t: () => setAsking("comment"), s: snooze } : {}, asking === null);
  return (
    <>
      <button type="button" className="button small quiet" disabled={take.isPending} onClick={claim}>
        {mine ? "Give back" : "Claim"} {keys && <kbd>c</kbd>}
      </button>
      <button type="button" className="button small quiet" onClick={() => setAsking("comment")}>
        Comment {keys && <kbd>t</kbd>}
      </button>
      <button type="button" className="button small quiet" disabled={wake.isPending} onClick={snooze}>
        {snoozed ? "End snooze" : "Snooze"} {keys && <kbd>s</kbd>}
      </button>
      {asking === "comment" && <CommentDialog {...{ members, onDone }} onClose={() => setAsking(null)} />}
      {asking === "snooze" && <SnoozeDialog {...{ members, onDone }} onClose={() => setAsking(null)} />}
    </>
  );
}

function useMark(
  members: readonly Escalation[],
  said: string,
  mark: (escalation_id: string) => Promise<Escalation>,
  onDone: () => void,
) {
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: async () => {
      for (const { escalation_id } of members)
        queries.setQueryData(["escalations", "one", escalation_id], await mark(escalation_id));
    },
    onSuccess: () => {
      toasts.done(members.length === 1 ? said : `${said}: ${members.length} reviews`);
      onDone();
    },
    onError: (error) => toasts.failed(error),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["escalations"] });
      void queries.invalidateQueries({ queryKey: ["audit"] });
    },
  });
}

interface MarkDialogProps {
  readonly members: readonly Escalation[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const titleOf = (verb: string, { length }: readonly Escalation[]) =>
  length === 1 ? `${verb} this review` : `${verb} ${length} reviews`;

function CommentDialog({ members, onDone, onClose }: MarkDialogProps) {
  const client = useClient();
  const [comment, setComment] = useState("");
  const ready = comment.trim() !== "";
  const save = useMark(
    members,
    "Comment saved",
    (id) => client.commentOnEscalation(id, comment.trim()),
    () => {
      onClose();
      onDone();
    },
  );
  const submit = () => {
    if (ready && !save.isPending) save.mutate();
  };
  return (
    <Dialog title={titleOf("Comment on", members)} onClose={onClose} onConfirm={submit}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <TextArea
          label="Comment for people"
          hint="It decides nothing. The audit trail keeps it. The agent does not get it."
          maxLength={limits.comment_chars_max}
          value={comment}
          onChange={(event) => setComment(event.target.value)}
          autoFocus
        />
        {save.error !== null && <Failed error={save.error} />}
        <FormActions action="Save comment" disabled={!ready || save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

const hour_ms = 3_600_000;
const spans = [
  ["1", "1 hour"],
  ["4", "4 hours"],
  ["24", "1 day"],
  ["72", "3 days"],
  ["168", "1 week"],
] as const;

function SnoozeDialog({ members, onDone, onClose }: MarkDialogProps) {
  const client = useClient();
  const [hours, setHours] = useState("1");
  const ends = Math.min(...members.map(({ expires_at }) => Date.parse(expires_at)));
  const until = () => new Date(nowMs() + Number(hours) * hour_ms);
  const too_late = until().getTime() >= ends;
  const save = useMark(
    members,
    "Snoozed",
    (id) => client.snoozeEscalation(id, until().toISOString()),
    () => {
      onClose();
      onDone();
    },
  );
  const submit = () => {
    if (!save.isPending) save.mutate();
  };
  return (
    <Dialog title={titleOf("Snooze", members)} onClose={onClose} onConfirm={submit}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <p>Your own queue hides it until then, or until something about it changes. Others still see it.</p>
        <SelectField
          label="For"
          value={hours}
          onChange={(event) => setHours(event.target.value)}
          options={spans}
          autoFocus
        />
        {too_late && (
          <div className="banner warn" role="status">
            <div>
              <strong>A review ends before that</strong>
              You will not see it again before its time is over.
            </div>
          </div>
        )}
        {save.error !== null && <Failed error={save.error} />}
        <FormActions action="Snooze" disabled={save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
