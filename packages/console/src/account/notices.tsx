/** How the signed-in reviewer learns of actions that wait: mails, Slack, push notices. */
import type { OwnChannels, ProfileChange, SlackLinkCode, User } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient } from "../api/session.tsx";
import { nowMs } from "../browser/clock.ts";
import { subscribeToPush, whyNoPush } from "../browser/push.ts";
import { Secret } from "../parts/forms/copy.tsx";
import { SelectField } from "../parts/forms/field.tsx";
import { Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { useRefreshAccount } from "./refresh-account.ts";

export function Notices({ user }: { readonly user: User }) {
  const client = useClient();
  const query = useQuery({ queryKey: ["own-channels"], queryFn: () => client.getOwnChannels() });
  return (
    <section className="card stack" aria-label="Notices">
      <h2>Notices</h2>
      <p className="muted">How you learn of actions that wait for your review.</p>
      <Mails user={user} />
      <Loaded query={query} what="your channels">
        {(channels) => (
          <>
            <PushNotices channels={channels} />
            <SlackAccount channels={channels} />
          </>
        )}
      </Loaded>
    </section>
  );
}

const hours = Array.from({ length: 24 }, (_, hour) => hour);

/** The hour in UTC as the reader's clock shows it. */
function localHour(hour: number): string {
  const at = new Date(nowMs());
  at.setUTCHours(hour, 0, 0, 0);
  return at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

function Mails({ user }: { readonly user: User }) {
  const client = useClient();
  const refresh = useRefreshAccount();
  const toasts = useToasts();
  const change = useMutation({
    mutationFn: (wishes: ProfileChange) => client.changeProfile(wishes),
    onSuccess: () => toasts.done("Saved"),
    onError: toasts.failed,
    onSettled: refresh,
  });
  const rhythm = user.notify ? user.mail_rhythm : "none";
  const byLocalHour = hours.toSorted((one, two) => (localHour(one) < localHour(two) ? -1 : 1));
  return (
    <div className="grid-2">
      <SelectField
        label="Mails"
        value={rhythm}
        disabled={change.isPending}
        hint={<Data text={user.email} />}
        onChange={({ target: { value } }) =>
          change.mutate(
            value === "none" ? { notify: false } : { notify: true, mail_rhythm: value as User["mail_rhythm"] },
          )
        }
        options={[
          ["at_once", "At once"],
          ["daily", "Once a day"],
          ["none", "None"],
        ]}
      />
      {rhythm === "daily" && (
        <SelectField
          label="Time of the daily mail"
          value={String(user.digest_hour)}
          disabled={change.isPending}
          hint="A review with a tenth of its time left is mailed at once."
          onChange={({ target: { value } }) => change.mutate({ digest_hour: Number(value) })}
          options={byLocalHour.map((hour) => [String(hour), localHour(hour)] as const)}
        />
      )}
    </div>
  );
}

function useOwnChannels<Input, Output>(
  change: (input: Input) => Promise<Output>,
  said: (output: Output) => string | null,
) {
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: change,
    onSuccess: (output) => {
      const words = said(output);
      if (words !== null) toasts.done(words);
    },
    onError: toasts.failed,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["own-channels"] }),
  });
}

function PushNotices({ channels }: { readonly channels: OwnChannels }) {
  const client = useClient();
  const add = useOwnChannels(
    async (public_key: string) => {
      const device = await subscribeToPush(public_key);
      return device === null ? null : client.addPushDevice(device);
    },
    (added) => (added === null ? "You did not allow notices" : "This browser gets push notices"),
  );
  const remove = useOwnChannels(
    (id: string) => client.deletePushDevice(id),
    () => "Removed",
  );
  const impossible = whyNoPush();
  const { push_devices, push_public_key } = channels;
  return (
    <div className="stack tight">
      <h3>Push notices</h3>
      {push_devices.length > 0 && (
        <ul className="plain stack tight">
          {push_devices.map(({ device_id, name, created_at }) => (
            <li key={device_id} className="row between">
              <span>
                <Data text={name} />
                <span className="small muted">
                  {" since "}
                  <Time at={created_at} />
                </span>
              </span>
              <button
                type="button"
                className="button small"
                disabled={remove.isPending}
                onClick={() => remove.mutate(device_id)}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      {impossible === null ? (
        <div className="actions start">
          <button type="button" className="button" disabled={add.isPending} onClick={() => add.mutate(push_public_key)}>
            Get notices in this browser
          </button>
        </div>
      ) : (
        <p className="small muted">{impossible}</p>
      )}
    </div>
  );
}

function SlackAccount({ channels: { slack } }: { readonly channels: OwnChannels }) {
  const client = useClient();
  const [link, setLink] = useState<SlackLinkCode | null>(null);
  const begin = useOwnChannels(
    async (_: undefined) => setLink(await client.beginSlackLink()),
    () => null,
  );
  const end = useOwnChannels(
    (_: undefined) => client.endSlackLink(),
    () => "Slack account unlinked",
  );
  if (!slack.connected && slack.linked_as === null) return null;
  return (
    <div className="stack tight">
      <h3>Slack</h3>
      {slack.linked_as === null ? (
        <p className="small muted">Link your account to approve and block from the cards in Slack.</p>
      ) : (
        <p className="row between">
          <span>
            {"Linked as "}
            <Data text={slack.linked_as} />
            {slack.linked_at !== null && (
              <span className="small muted">
                {" since "}
                <Time at={slack.linked_at} />
              </span>
            )}
          </span>
          <button type="button" className="button small" disabled={end.isPending} onClick={() => end.mutate(undefined)}>
            Unlink
          </button>
        </p>
      )}
      {link !== null && slack.linked_as === null && (
        <div role="status" className="stack tight">
          <p className="small">Type this in Slack within ten minutes. It works once.</p>
          <Secret text={link.command} label="Copy command" />
        </div>
      )}
      {slack.connected && slack.linked_as === null && (
        <div className="actions start">
          <button type="button" className="button" disabled={begin.isPending} onClick={() => begin.mutate(undefined)}>
            {link === null ? "Link your Slack account" : "Get another code"}
          </button>
        </div>
      )}
    </div>
  );
}
