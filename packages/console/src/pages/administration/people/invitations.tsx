import { type Invitation, limits, type PersonRole } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { FormError } from "../../../account/outside.tsx";
import { nameField } from "../../../account/own-name.tsx";
import { useClient } from "../../../api/session.tsx";
import { Dialog, FormActions } from "../../../parts/forms/dialog.tsx";
import { EmailField, SelectField, TextField } from "../../../parts/forms/field.tsx";
import { Badge } from "../../../parts/records/badge.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { Paged, usePaged } from "../../../parts/tables/paged.tsx";
import { Time } from "../../../parts/time.tsx";
import { useToasts } from "../../../parts/toasts.tsx";
import { roles } from "./roles.ts";

const void_link = "The link in the first mail is no longer valid.";

export function Invitations() {
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
  const resend = useMutation({
    mutationFn: ({ email, name, role }: Invitation) =>
      client.inviteUser({ email, role, ...(name === null ? {} : { name }) }),
    onSuccess: ({ email }) => toasts.done("Invitation sent again", `to ${email}. ${void_link}`),
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
                  <Data text={each.name === null ? each.email : `${each.name} (${each.email})`} />{" "}
                  <Badge text={each.role} />
                  <span className="small muted">
                    {" ends "}
                    <Time at={each.expires_at} />
                  </span>
                </span>
                <span className="row">
                  <button
                    type="button"
                    className="button small"
                    disabled={resend.isPending}
                    onClick={() => resend.mutate(each)}
                  >
                    Send again
                  </button>
                  <button
                    type="button"
                    className="button small"
                    disabled={revoke.isPending}
                    onClick={() => revoke.mutate(each.invitation_id)}
                  >
                    Withdraw
                  </button>
                </span>
              </li>
            ))}
          </ul>
        )}
      </Paged>
    </section>
  );
}

interface Sent {
  readonly invitation: Invitation;
  readonly before: Invitation | undefined;
}

const addresses_chars_max = 10_000;
const addressesIn = (text: string) => text.split(/[\s,;]+/).filter((each) => each !== "");

export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const tell = ({ invitation: { email, role }, before }: Sent) => {
    if (before === undefined) toasts.done("Invitation sent", `to ${email}`);
    else if (before.role === role) toasts.done("Invitation sent again", `to ${email}. ${void_link}`);
    else
      toasts.told(
        "This invitation replaces an earlier one",
        `${email} was invited as ${before.role}, and now as ${role}. ${void_link}`,
      );
  };
  const invite = useMutation({
    mutationFn: async (form: FormData) => {
      const emails = addressesIn(String(form.get("email")));
      const name = String(form.get("name")).trim();
      if (name !== "" && emails.length > 1) throw new Error("A name is for one address: invite the others without it.");
      // The answer does not say whether the address had an invitation. The list does, and fits one page.
      const { invitations } = await client.listInvitations({ limit: limits.open_invitations_per_organization_max });
      for (const email of emails) {
        const invitation = await client.inviteUser({
          email,
          role: String(form.get("role")) as PersonRole,
          ...(name === "" ? {} : { name }),
        });
        const before = invitations.find((each) => each.email.toLowerCase() === email.toLowerCase());
        // A retry after a lost answer returns the same invitation.
        tell({ invitation, before: before?.invitation_id === invitation.invitation_id ? undefined : before });
      }
    },
    onSuccess: onClose,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["people"] }),
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
        <EmailField
          autoComplete="off"
          multiple
          maxLength={addresses_chars_max}
          hint="One address, or several with commas between them"
          onPaste={(event) => {
            // The field removes line ends, and two addresses would become one.
            const pasted = addressesIn(event.clipboardData.getData("text"));
            if (pasted.length < 2) return;
            event.preventDefault();
            event.currentTarget.setRangeText(pasted.join(", "), 0, event.currentTarget.value.length, "end");
          }}
        />
        <TextField
          {...nameField}
          label="Name, if you invite one person"
          autoComplete="off"
          hint="Optional. The person can change it."
        />
        <SelectField label="Role" name="role" options={roles} />
        <FormError error={invite.error} />
        <FormActions action="Send invitation" disabled={invite.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
