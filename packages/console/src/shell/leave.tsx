/** Asks first if drafts would be lost. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { adviceOn } from "../api/advice.ts";
import { useSession } from "../api/session.tsx";
import { hasDrafts } from "../browser/storage.ts";
import { Confirm } from "../parts/forms/dialog.tsx";
import { useToasts } from "../parts/toasts.tsx";

export function useLeave() {
  const { signOut, hasKey } = useSession();
  const toasts = useToasts();
  const [asked, setAsked] = useState(false);
  const leave = useMutation({
    mutationFn: signOut,
    onSettled: () => setAsked(false),
    onError: (error) => {
      const { title, todo } = adviceOn(error);
      toasts.told("You may still be signed in", `${title}. ${todo}`);
    },
  });
  return {
    label: hasKey ? "Forget key" : "Sign out",
    isPending: leave.isPending,
    asked,
    begin: () => (hasDrafts() ? setAsked(true) : leave.mutate()),
    confirm: () => leave.mutate(),
    cancel: () => setAsked(false),
  };
}

export type Leave = ReturnType<typeof useLeave>;

export function LeaveButton({ leave }: { readonly leave: Leave }) {
  return (
    <button type="button" className="button small" disabled={leave.isPending} onClick={leave.begin}>
      {leave.label}
    </button>
  );
}

export function LeaveQuestion({ leave }: { readonly leave: Leave }) {
  return (
    <Confirm
      title="Your text in this tab is not saved"
      action={`${leave.label} and lose it`}
      tone="bad"
      busy={leave.isPending}
      onConfirm={leave.confirm}
      onClose={leave.cancel}
    >
      <p>Leaving deletes the text, so that later users of this browser cannot find it.</p>
    </Confirm>
  );
}
