/** Changes a person's role, or removes the person. */
import type { MadeChoices, MadeThing, PersonRole, User } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../../../api/session.tsx";
import { Confirm } from "../../../parts/forms/dialog.tsx";
import { MadeDialog, undecidedThings } from "../../../parts/forms/made-dialog.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { useToasts } from "../../../parts/toasts.tsx";

/** The new role of a person; null: the person is removed. */
export interface PersonChange {
  readonly user: User;
  readonly role: PersonRole | null;
  /** What the person made, once the service has listed it. */
  readonly things?: readonly MadeThing[];
}

/** `onAsked`: the service asks what becomes of what the person made, or nothing is to be asked any more. */
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

/** Asks before the change. */
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
          ? " is signed out at once. Reviews in this person's hands wait until they are reassigned. If the person made keys, webhooks or invitations, you are asked what becomes of them."
          : " is signed out at once and signs in again with the new role. With a weaker role, you are asked what becomes of the keys, webhooks and invitations that the person made."}
      </p>
    </Confirm>
  );
}
