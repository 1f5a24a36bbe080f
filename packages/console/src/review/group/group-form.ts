import { useState } from "react";
import { useDraft } from "../../api/draft.ts";
import { useInHands } from "../../parts/records/who.tsx";
import type { Group } from "../escalation-data.ts";
import { type Item, useGroupRun } from "../group-run.ts";
import { confirmOf } from "../ruling/confirmed-vote.ts";

type GroupOutcome = "approve" | "block";

export function useGroupForm({ key, members }: Group, onClose: (closed: readonly string[]) => void) {
  const run = useGroupRun();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [comment, setComment, dropComment] = useDraft(`comment.${key}`);
  const [message, setMessage, dropMessage] = useDraft(`message.${key}`);
  const [outcome, setOutcome] = useState<GroupOutcome | null>(null);
  const inHands = useInHands();
  const ids = members.map(({ escalation_id }) => escalation_id);
  const chosen = members
    .filter((each) => inHands(each) && confirmOf(each) === null && !left.has(each.escalation_id))
    .map(({ escalation_id }) => escalation_id);
  const over = chosen.filter((id) => isOver(run.items.get(id))).length;
  const begin = (next: GroupOutcome) => {
    setOutcome(next);
    void run.begin(chosen, {
      outcome: next,
      ...(comment.trim() === "" ? {} : { comment: comment.trim() }),
      ...(message.trim() === "" ? {} : { message_to_agent: message.trim() }),
    });
  };
  return {
    run,
    inHands,
    chosen,
    comment,
    setComment,
    message,
    setMessage,
    begun: outcome !== null,
    /** Number of selected ones with a result. */
    over,
    finished: outcome !== null && over === chosen.length,
    begin,
    /** Decides the rest with the run's first outcome. */
    goOn: () => {
      if (outcome !== null) begin(outcome);
    },
    toggle: (id: string) => {
      const next = new Set(left);
      if (!next.delete(id)) next.add(id);
      setLeft(next);
    },
    close: () => {
      dropComment();
      dropMessage();
      onClose(ids.filter((id) => isClosed(run.items.get(id))));
    },
  };
}

export type GroupForm = ReturnType<typeof useGroupForm>;

function isOver(item: Item | undefined): boolean {
  return item?.state === "ruled" || item?.state === "refused";
}

function isClosed(item: Item | undefined): boolean {
  return item?.state === "ruled" && item.after.status !== "pending";
}
