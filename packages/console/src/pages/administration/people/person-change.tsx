/** Changes a person's role, or removes the person. */
import type { Role, User } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../../../api/session.tsx";
import { Confirm } from "../../../parts/forms/dialog.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { useToasts } from "../../../parts/toasts.tsx";

/** The new role of a person; null: the person is removed. */
export interface PersonChange {
  readonly user: User;
  readonly role: Role | null;
}

export function usePersonChange(onSettled: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: async ({ user, role }: PersonChange) => {
      if (role === null) await client.removePerson(user.user_id);
      else await client.changeRole(user.user_id, role);
    },
    onSuccess: (_, { role }) => toasts.done(role === null ? "Removed" : "Role changed", "Their sessions have ended."),
    onError: toasts.failed,
    onSettled: () => {
      onSettled();
      void queries.invalidateQueries({ queryKey: ["people"] });
    },
  });
}

/** Asks before the change. */
export function PersonChangeQuestion({
  change: { user, role },
  ...question
}: {
  readonly change: PersonChange;
  readonly busy: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  return (
    <Confirm
      title={role === null ? "Remove this person?" : `Give the role ${role}?`}
      action={role === null ? "Remove" : "Change the role"}
      tone={role === null ? "bad" : "primary"}
      {...question}
    >
      <p>
        <Data text={user.email} />
        {role === null
          ? " is signed out at once, and invitations this person sent are withdrawn. API keys that this person created belong to the organization and stay valid until they are revoked. Reviews in this person's hands wait until they are reassigned."
          : " is signed out at once and signs in again with the new role. API keys that this person created keep theirs until they are revoked."}
      </p>
    </Confirm>
  );
}
