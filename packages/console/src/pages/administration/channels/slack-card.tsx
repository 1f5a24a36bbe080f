import type { Channels, SlackChannel } from "@countersign/contract";
import { FormError } from "../../../account/outside.tsx";
import { CopyButton } from "../../../parts/forms/copy.tsx";
import { Dialog, FormActions } from "../../../parts/forms/dialog.tsx";
import { TextField } from "../../../parts/forms/field.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { Time } from "../../../parts/time.tsx";
import { ChannelCard } from "./channel-card.tsx";
import { slackManifest } from "./slack-manifest.ts";
import { useChannelChange } from "./use-channel-change.ts";

export function SlackCard({ channels, may }: { readonly channels: Channels; readonly may: boolean }) {
  const { slack, slack_request_url } = channels;
  return (
    <ChannelCard
      title="Slack"
      may={may}
      connected={slack === null ? null : <Connected slack={slack} />}
      unconnected={(connect) => <NotConnected request_url={slack_request_url} onConnect={connect} />}
      form={(close) => <SlackDialog known={slack} onClose={close} />}
      remove={(client) => client.deleteSlackChannel()}
      removed="Slack is disconnected"
      removal="New reviews do not appear in Slack, and the buttons of earlier cards stop working."
    />
  );
}

function Connected({ slack }: { readonly slack: SlackChannel }) {
  return (
    <>
      <p className="muted">Each live review appears as a card. Linked reviewers approve or block there.</p>
      <dl className="pairs">
        <dt>Channel</dt>
        <dd>
          <Data text={slack.channel_id} />
        </dd>
        <dt>Workspace</dt>
        <dd>
          <Data text={slack.team_id} />
        </dd>
        <dt>Request address</dt>
        <dd>
          <Data text={slack.request_url} /> <CopyButton text={slack.request_url} />
        </dd>
        <dt>Saved</dt>
        <dd>
          <Time at={slack.updated_at} />
        </dd>
      </dl>
    </>
  );
}

function NotConnected({ request_url, onConnect }: { readonly request_url: string; readonly onConnect: () => void }) {
  return (
    <>
      <p className="muted">Show each live review as a card with buttons in a channel of your workspace.</p>
      <ol className="steps">
        <li>
          {"Copy the app’s manifest. "}
          <CopyButton text={slackManifest(request_url)} />
        </li>
        <li>
          {"At "}
          <a href="https://api.slack.com/apps?new_app=1" target="_blank" rel="noreferrer">
            api.slack.com/apps
          </a>
          {", create an app from the manifest, and install it."}
        </li>
        <li>Invite the app to a private channel for your reviewers.</li>
        <li>Connect the channel with the app’s bot token and signing secret.</li>
      </ol>
      {!request_url.startsWith("https://") && (
        <p className="small muted">
          Slack calls this service at a public https address, and the service has none yet. Set COUNTERSIGN_PUBLIC_URL
          first.
        </p>
      )}
      <div className="actions start">
        <button type="button" className="button" onClick={onConnect}>
          Connect Slack
        </button>
      </div>
    </>
  );
}

function SlackDialog({ known, onClose }: { readonly known: SlackChannel | null; readonly onClose: () => void }) {
  const save = useChannelChange(
    "Slack is connected",
    (client, form: FormData) => {
      const text = (name: string) => String(form.get(name) ?? "").trim();
      const given = (name: string) => (text(name) === "" ? {} : { [name]: text(name) });
      return client.putSlackChannel({
        channel_id: text("channel_id"),
        api_url: text("api_url"),
        ...given("bot_token"),
        ...given("signing_secret"),
      });
    },
    onClose,
  );
  const secret = known === null ? {} : { hint: "Empty: unchanged" };
  return (
    <Dialog title={known === null ? "Connect Slack" : "Change Slack"} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(new FormData(event.currentTarget));
        }}
      >
        <TextField
          label="Channel id"
          name="channel_id"
          required
          pattern="[CG][A-Z0-9]+"
          defaultValue={known?.channel_id ?? ""}
          hint="At the end of the channel’s “About” dialog, for example C0123ABCD."
        />
        <TextField
          label="Bot token"
          name="bot_token"
          type="password"
          autoComplete="off"
          required={known === null}
          {...(known === null ? { hint: "Begins with xoxb-." } : secret)}
        />
        <TextField
          label="Signing secret"
          name="signing_secret"
          type="password"
          autoComplete="off"
          required={known === null}
          {...(known === null ? { hint: "On the app’s page “Basic information”." } : secret)}
        />
        <TextField
          label="Address of Slack’s API"
          name="api_url"
          type="url"
          required
          defaultValue={known?.api_url ?? "https://slack.com/api"}
          hint="GovSlack: https://slack-gov.com/api"
        />
        <p className="small muted">The service posts a first message to the channel now.</p>
        <FormError error={save.error} />
        <FormActions action="Connect" disabled={save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
