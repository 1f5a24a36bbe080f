import type { TeamsChannel } from "@countersign/contract";
import { FormError } from "../../../account/outside.tsx";
import { Dialog, FormActions } from "../../../parts/forms/dialog.tsx";
import { TextField } from "../../../parts/forms/field.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { Time } from "../../../parts/time.tsx";
import { ChannelCard } from "./channel-card.tsx";
import { useChannelChange } from "./use-channel-change.ts";

export function TeamsCard({ teams, may }: { readonly teams: TeamsChannel | null; readonly may: boolean }) {
  return (
    <ChannelCard
      title="Microsoft Teams"
      may={may}
      connected={teams === null ? null : <Connected teams={teams} />}
      unconnected={(connect) => <NotConnected onConnect={connect} />}
      form={(close) => <TeamsDialog onClose={close} />}
      remove={(client) => client.deleteTeamsChannel()}
      removed="Teams is disconnected"
      removal="New reviews do not appear in Teams."
    />
  );
}

function Connected({ teams }: { readonly teams: TeamsChannel }) {
  return (
    <>
      <p className="muted">Each live review appears as a card with a link to it.</p>
      <dl className="pairs">
        <dt>Workflow at</dt>
        <dd>
          <Data text={teams.webhook_host} />
        </dd>
        <dt>Saved</dt>
        <dd>
          <Time at={teams.updated_at} />
        </dd>
      </dl>
    </>
  );
}

function NotConnected({ onConnect }: { readonly onConnect: () => void }) {
  return (
    <>
      <p className="muted">Show each live review as a card with a link in a channel of your team.</p>
      <ol className="steps">
        <li>In Teams, open the channel’s menu and choose “Workflows”.</li>
        <li>Take the template that posts to a channel when a webhook request is received.</li>
        <li>Copy the address that the workflow shows at its end.</li>
      </ol>
      <div className="actions start">
        <button type="button" className="button" onClick={onConnect}>
          Connect Teams
        </button>
      </div>
    </>
  );
}

function TeamsDialog({ onClose }: { readonly onClose: () => void }) {
  const save = useChannelChange(
    "Teams is connected",
    (client, form: FormData) => client.putTeamsChannel({ webhook_url: String(form.get("webhook_url")).trim() }),
    onClose,
  );
  return (
    <Dialog title="Connect Microsoft Teams" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(new FormData(event.currentTarget));
        }}
      >
        <TextField
          label="Address of the workflow"
          name="webhook_url"
          type="url"
          required
          autoComplete="off"
          hint="It is a secret: everybody who has it can post to the channel."
        />
        <p className="small muted">The service posts a first card to the channel now.</p>
        <FormError error={save.error} />
        <FormActions action="Connect" disabled={save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
