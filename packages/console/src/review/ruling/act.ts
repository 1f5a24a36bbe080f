import type { Escalation } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useToasts } from "../../parts/toasts.tsx";

export interface ActProps {
  readonly escalation: Escalation;
  readonly onClose: () => void;
  readonly onDone: (after: Escalation) => void;
}

/** `said` is the title of the message afterwards. */
export function useAct(perform: () => Promise<Escalation>, said: string, { onClose, onDone, escalation }: ActProps) {
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: perform,
    onSuccess: async (after) => {
      const queryKey = ["escalations", "one", after.escalation_id];
      // Answers to earlier requests are stale.
      await queries.cancelQueries({ queryKey });
      queries.setQueryData(queryKey, after);
      toasts.done(
        after.status === "pending" && said !== "Reassigned" ? "Vote counted; more approvals are needed" : said,
        after.status === "pending" ? undefined : "The waiting agent has its answer.",
      );
      onClose();
      onDone(after);
    },
    onSettled: (after) => {
      void queries.invalidateQueries({
        queryKey: ["escalations"],
        // The act's answer is the newest state of this escalation.
        predicate: ({ queryKey }) => after === undefined || queryKey[1] !== "one",
      });
      void queries.invalidateQueries({ queryKey: ["intents", "one", escalation.intent_id] });
      void queries.invalidateQueries({ queryKey: ["audit", escalation.intent_id] });
    },
  });
}
