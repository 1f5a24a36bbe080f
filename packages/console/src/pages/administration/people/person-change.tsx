import type { MadeChoices, MadeThing, PersonRole, User } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../../../api/session.tsx";
import { Confirm } from "../../../parts/forms/dialog.tsx";
import { MadeDialog, undecidedThings } from "../../../parts/forms/made-dialog.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { useToasts } from "../../../parts/toasts.tsx";

/** A new role for a person, or the removal of the person (`role` null). */
export interface PersonChange {
  readonly user: User;
  readonly role: PersonRole | null;
  /** Keys, webhooks and invitations that the person made. Set after the service refused the change and listed them. */
  readonly things?: readonly MadeThing[];
}

/**
 * Sends the change. Calls `onAsked` with the change if an admin must first choose what happens to the person's keys,
 * webhooks and invitations. Otherwise calls it with null, so that the dialog closes.
 */
export function usePersonChange(onAsked: (change: PersonChange | null) => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: async ({ user, role, made }: PersonChange & { readonly made?: MadeChoices }) => {
      if (role === null) await client.removePerson(user.user_id, made);
      else await client.changeRole(user.user_id, role, made);
    },
    onSuccess: (_, { role }) => {
      onAsked(null);
      toasts.done(role === null ? "Removed" : "Role changed", "Their sessions have ended.");
    },
    onError: (error, { user, role }) => {
      const things = undecidedThings(error);
      onAsked(things === null ? null : { user, role, things });
      if (things === null) toasts.failed(error);
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["people"] });
    },
  });
}

export function PersonChangeQuestion({
  change: { user, role, things },
  onConfirm,
  ...question
}: {
  readonly change: PersonChange;
  readonly busy: boolean;
  readonly onConfirm: (made?: MadeChoices) => void;
  readonly onClose: () => void;
}) {
  const action = role === null ? "Remove" : "Change the role";
  if (things !== undefined) return <MadeDialog things={things} action={action} onConfirm={onConfirm} {...question} />;
  return (
    <Confirm
      title={role === null ? "Remove this person?" : `Give the role ${role}?`}
      action={action}
      onConfirm={() => onConfirm()}
      tone={role === null ? "bad" : "primary"}
      {...question}
    >
      <p>
        <Data text={user.email} />
        {role === null
          ? "will be signed out immediately. Reviews assigned to this person wait until you reassign them or they time out. If the person made keys, webhooks or invitations, you choose next what happens to them."
          : "will be signed out immediately, and must sign in again to use the new role. If the new role has fewer rights, you may have to choose next what happens to keys, webhooks and invitations that the person made."}
      </p>
    </Confirm>
  );
}
