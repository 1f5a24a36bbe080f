import type { Rollout } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient } from "../../api/session.tsx";
import { Confirm } from "../../parts/forms/dialog.tsx";
import { TextField } from "../../parts/forms/field.tsx";
import { useToasts } from "../../parts/toasts.tsx";

export const percent = (share: number) => `${rounded(100 * share)} %`;
export const rounded = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 1 });

export type Step = "plan" | "remove" | "advance" | "stop" | "return";

const done: Readonly<Record<Step, string>> = {
  plan: "The rollout is planned. Go live to begin it",
  remove: "The plan is removed",
  advance: "The rollout goes on",
  stop: "The rollout is stopped",
  return: "The return is noted",
};

const questions: Readonly<Record<Step, { readonly title: string; readonly action: string; readonly text: string }>> = {
  plan: {
    title: "Enforce for few agents first?",
    action: "Plan the rollout",
    text:
      "After you go live, decisions bind 5 %, then 25 %, then all of the registered agents on keys that are bound to one agent. The " +
      "others stay in shadow. Everybody else is enforced at once. A guard stops the rollout and mails the admins.",
  },
  remove: {
    title: "Remove the plan?",
    action: "Remove the plan",
    text: "Going live then enforces decisions for all agents.",
  },
  advance: {
    title: "Enforce for more agents?",
    action: "Go on",
    text: "The next share of agents is enforced from now on. If the guard returned holds, they are enforced again first.",
  },
  stop: { title: "Stop the rollout?", action: "Stop", text: "The present share of agents stays enforced." },
  return: {
    title: "Return to the stage before?",
    action: "Return",
    text: "Agents outside of the smaller share go back to shadow. A second person must ask for it, too, if there is one.",
  },
};

interface QuestionOf {
  readonly membrane_id: string;
  readonly rollout: Rollout | null;
  readonly step: Step;
  readonly onClose: () => void;
}

export function Question({ membrane_id, rollout, step, onClose }: QuestionOf) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [reason, setReason] = useState("");
  const [returns_holds_itself, setReturnsHolds] = useState(false);
  const needs_reason = step === "stop" || step === "return" || (step === "advance" && rollout?.status === "stopped");
  const act = useMutation({
    mutationFn: async () => {
      if (step === "plan") await client.planRollout(membrane_id, { returns_holds_itself });
      else if (step === "remove") await client.removeRollout(membrane_id);
      else if (step === "stop") await client.stopRollout(membrane_id, { reason });
      else if (step === "advance") await client.advanceRollout(membrane_id, needs_reason ? { reason } : {});
      else await client.returnRollout(membrane_id, { stage: (rollout?.stage ?? 2) - 1, reason });
    },
    onSuccess: () => toasts.done(done[step]),
    onError: toasts.failed,
    onSettled: () => {
      onClose();
      void queries.invalidateQueries({ queryKey: ["rollout", membrane_id] });
    },
  });
  const { title, action, text } = questions[step];
  return (
    <Confirm
      title={title}
      action={action}
      tone={step === "return" ? "bad" : "primary"}
      busy={act.isPending || (needs_reason && reason.trim() === "")}
      onConfirm={() => act.mutate()}
      onClose={onClose}
    >
      <p>{text}</p>
      {step === "plan" && (
        <label className="check">
          <input
            type="checkbox"
            checked={returns_holds_itself}
            onChange={({ target }) => setReturnsHolds(target.checked)}
          />
          {" Return holds to shadow when the guard finds too many. Blocks are never returned."}
        </label>
      )}
      {needs_reason && (
        <TextField label="Reason" value={reason} required onChange={({ target }) => setReason(target.value)} />
      )}
    </Confirm>
  );
}
