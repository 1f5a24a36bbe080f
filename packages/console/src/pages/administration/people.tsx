/** The people of the organization, and who was invited. */
import { limits, type Role, type User } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { FormError } from "../../account/outside.tsx";
import { useClient, useMay, useSession } from "../../api/session.tsx";
import { Confirm, Dialog, FormActions } from "../../parts/forms/dialog.tsx";
import { EmailField, SelectField } from "../../parts/forms/field.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Badge } from "../../parts/records/badge.tsx";
import { Empty } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { useToasts } from "../../parts/toasts.tsx";

const roles = [
  ["reviewer", "reviewer: decides escalations"],
  ["operator", "operator: overrides, context, deliveries"],
  ["admin", "admin: everything"],
  ["auditor", "auditor: reads everything"],
] as const satisfies readonly (readonly [Role, string])[];

type Asked = { readonly user: User; readonly role: Role | null };

export function PeoplePage() {
  const client = useClient();
  const { caller } = useSession();
  const may = useMay("admin");
  const queries = useQueryClient();
  const toasts = useToasts();
  const [inviting, setInviting] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const list = usePaged(["people", "list"], async (cursor) => {
    const page = await client.listPeople(cursor === undefined ? {} : { cursor });
    return { rows: page.people, next_cursor: page.next_cursor };
  });
  const change = useMutation({
    mutationFn: async ({ user, role }: Asked) => {
      if (role === null) await client.removePerson(user.user_id);
      else await client.changeRole(user.user_id, role);
    },
    onSuccess: (_, { role }) => toasts.done(role === null ? "Removed" : "Role changed", "Their sessions have ended."),
    onError: toasts.failed,
    onSettled: () => {
      setAsked(null);
      void queries.invalidateQueries({ queryKey: ["people"] });
    },
  });
  return (
    <>
      <PageHead title="People" about="Who may sign in, and as what.">
        {may && (
          <button type="button" className="button primary" onClick={() => setInviting(true)}>
            Invite somebody
          </button>
        )}
      </PageHead>
      <section className="card" aria-label="People">
        <Paged
          list={list}
          what="people"
          empty={
            <Empty title="Nobody has an account here yet">
              <p>Invite people by e-mail. Until then API keys are the only way in.</p>
            </Empty>
          }
        >
          {(rows) => (
            <ListTable heads={["E-mail", "Role", "Second factor", "Last seen"]} actions>
              {rows.map((user) => (
                <tr key={user.user_id}>
                  <td>
                    <Data text={user.email} />
                    {user.user_id === caller?.id && <span className="small muted"> (you)</span>}
                    <div className="mono small muted">{user.user_id}</div>
                  </td>
                  <td>
                    {may ? (
                      <select
                        aria-label={`Role of ${user.email}`}
                        value={user.role}
                        onChange={(event) => setAsked({ user, role: event.target.value as Role })}
                      >
                        {[...new Set<Role>([...roles.map(([role]) => role), user.role])].map((role) => (
                          <option key={role} value={role}>
                            {role}
                          </option>
                        ))}
                      </select>
                    ) : (
                      user.role
                    )}
                  </td>
                  <td>
                    <Badge text={user.mfa_enabled ? "on" : "off"} tone={user.mfa_enabled ? "approve" : "plain"} />
                  </td>
                  <td>{user.last_seen_at === null ? "never" : <Time at={user.last_seen_at} />}</td>
                  <td>
                    {may && (
                      <button type="button" className="button small bad" onClick={() => setAsked({ user, role: null })}>
                        Remove
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </ListTable>
          )}
        </Paged>
      </section>
      {may && <Invitations />}
      {inviting && <InviteDialog onClose={() => setInviting(false)} />}
      {asked !== null && (
        <Confirm
          title={asked.role === null ? "Remove this person?" : `Give the role ${asked.role}?`}
          action={asked.role === null ? "Remove" : "Change the role"}
          tone={asked.role === null ? "bad" : "primary"}
          busy={change.isPending}
          onConfirm={() => change.mutate(asked)}
          onClose={() => setAsked(null)}
        >
          <p>
            <Data text={asked.user.email} />
            {asked.role === null
              ? " is signed out at once, and invitations this person sent are withdrawn. API keys that this person created belong to the organization and stay valid until they are revoked. Reviews in this person's hands wait until they are reassigned."
              : " is signed out at once and signs in again with the new role. API keys that this person created keep theirs until they are revoked."}
          </p>
        </Confirm>
      )}
    </>
  );
}

function Invitations() {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const list = usePaged(["people", "invitations"], async (cursor) => {
    const page = await client.listInvitations(cursor === undefined ? {} : { cursor });
    return { rows: page.invitations, next_cursor: page.next_cursor };
  });
  const revoke = useMutation({
    mutationFn: (invitation_id: string) => client.revokeInvitation(invitation_id),
    onSuccess: () => toasts.done("Invitation withdrawn"),
    onError: toasts.failed,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["people"] }),
  });
  return (
    <section className="card stack tight" aria-label="Invitations">
      <h2>Open invitations</h2>
      <Paged list={list} what="invitations" empty={<p className="muted">None.</p>}>
        {(rows) => (
          <ul className="plain stack tight">
            {rows.map((each) => (
              <li key={each.invitation_id} className="row between">
                <span>
                  <Data text={each.email} /> <Badge text={each.role} />
                  <span className="small muted">
                    {" ends "}
                    <Time at={each.expires_at} />
                  </span>
                </span>
                <button
                  type="button"
                  className="button small"
                  disabled={revoke.isPending}
                  onClick={() => revoke.mutate(each.invitation_id)}
                >
                  Withdraw
                </button>
              </li>
            ))}
          </ul>
        )}
      </Paged>
    </section>
  );
}

function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const invite = useMutation({
    mutationFn: async (form: FormData) => {
      const email = String(form.get("email")).trim();
      // The answer does not say whether the address had an invitation before; the list, which is never longer, does.
      const { invitations } = await client.listInvitations({ limit: limits.open_invitations_per_organization_max });
      const invitation = await client.inviteUser({ email, role: String(form.get("role")) as Role });
      const before = invitations.find((each) => each.email.toLowerCase() === email.toLowerCase());
      // One whose answer was lost and that is sent again is the same.
      return { invitation, before: before?.invitation_id === invitation.invitation_id ? undefined : before };
    },
    onSuccess: ({ invitation, before }) => {
      const { email, role } = invitation;
      const void_link = "The link in the first mail does not serve any more.";
      if (before === undefined) toasts.done("Invitation sent", `to ${email}`);
      else if (before.role === role) toasts.done("Invitation sent again", `to ${email}. ${void_link}`);
      else
        toasts.told(
          "This invitation replaces an earlier one",
          `${email} was invited as ${before.role}, and now as ${role}. ${void_link}`,
        );
      void queries.invalidateQueries({ queryKey: ["people"] });
      onClose();
    },
  });
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          invite.mutate(new FormData(event.currentTarget));
        }}
      >
        <EmailField autoComplete="off" />
        <SelectField label="Role" name="role" options={roles} />
        <FormError error={invite.error} />
        <FormActions action="Send invitation" disabled={invite.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
