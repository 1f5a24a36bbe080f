/** Webhooks, and below them the deliveries that failed. */
import { eventTypeNames, eventTypes, limits, type Webhook } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../../api/session.tsx";
import { Confirm, Dialog, FormActions } from "../../parts/forms/dialog.tsx";
import { TextField } from "../../parts/forms/field.tsx";
import { useShowSecret } from "../../parts/forms/shown-secret.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Badge } from "../../parts/records/badge.tsx";
import { changedOnly } from "../../parts/records/changed-only.ts";
import { Empty, Failed } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { useToasts } from "../../parts/toasts.tsx";
import { FailedDeliveries } from "./failed-deliveries.tsx";

const sentTypes = eventTypeNames.filter((name) => eventTypes[name].sent);

const isOfAll = ({ event_types }: Webhook) => event_types.length >= eventTypeNames.length;

export function WebhooksPage() {
  const client = useClient();
  const may = useMay("admin");
  const queries = useQueryClient();
  const toasts = useToasts();
  const [editing, setEditing] = useState<Webhook | "new" | null>(null);
  const showSecret = useShowSecret();
  const [doomed, setDoomed] = useState<Webhook | null>(null);
  const [leaked, setLeaked] = useState<Webhook | null>(null);
  const list = usePaged(["webhooks"], async (cursor) => {
    const page = await client.listWebhooks(cursor === undefined ? {} : { cursor });
    return { rows: page.webhooks, next_cursor: page.next_cursor };
  });
  const refresh = () => void queries.invalidateQueries({ queryKey: ["webhooks"] });
  const remove = useMutation({
    mutationFn: (webhook: Webhook) => client.deleteWebhook(webhook.id),
    onSuccess: () => toasts.done("Webhook deleted"),
    onError: toasts.failed,
    onSettled: () => {
      setDoomed(null);
      refresh();
    },
  });
  const showSecretOf = ({ secret }: Webhook) =>
    showSecret({
      title: "Its signing secret",
      about: "Your receiver checks every message with it.",
      text: secret,
      label: "Copy the secret",
    });
  const rotate = useMutation({
    mutationFn: (webhook: Webhook) => client.rotateWebhookSecret(webhook.id),
    onSuccess: showSecretOf,
    onError: toasts.failed,
    onSettled: () => setLeaked(null),
  });
  const toggle = useMutation({
    mutationFn: (webhook: Webhook) => client.changeWebhook(webhook.id, { active: !webhook.active }),
    onSuccess: (webhook) => toasts.done(webhook.active ? "Webhook switched on" : "Webhook switched off"),
    onError: toasts.failed,
    onSettled: refresh,
  });
  return (
    <>
      <PageHead title="Webhooks" about="Signed messages to your systems about decisions and reviews.">
        {may && (
          <button type="button" className="button primary" onClick={() => setEditing("new")}>
            Add a webhook
          </button>
        )}
      </PageHead>
      <section className="card" aria-label="Webhooks">
        <Paged
          list={list}
          what="webhooks"
          empty={
            <Empty title="No webhooks">
              <p>Add one to hear of decisions as they are made.</p>
            </Empty>
          }
        >
          {(rows) => (
            <ListTable heads={["Receiver", "Events", "State", "Since"]} actions>
              {rows.map((webhook) => (
                <tr key={webhook.id}>
                  <td>
                    <Data text={webhook.url} />
                    {webhook.description !== "" && (
                      <div className="small muted">
                        <Data text={webhook.description} />
                      </div>
                    )}
                    {webhook.escalation_id !== null && (
                      <div className="small muted mono">{`only ${webhook.escalation_id}`}</div>
                    )}
                  </td>
                  <td className="small">{isOfAll(webhook) ? "all" : webhook.event_types.join(", ")}</td>
                  <td>
                    <Badge text={webhook.active ? "on" : "off"} tone={webhook.active ? "approve" : "plain"} />
                  </td>
                  <td>
                    <Time at={webhook.created_at} />
                  </td>
                  <td>
                    {may && (
                      <span className="row">
                        <button type="button" className="button small" onClick={() => setEditing(webhook)}>
                          Change
                        </button>
                        <button
                          type="button"
                          className="button small"
                          disabled={toggle.isPending}
                          onClick={() => toggle.mutate(webhook)}
                        >
                          {webhook.active ? "Switch off" : "Switch on"}
                        </button>
                        <button type="button" className="button small" onClick={() => setLeaked(webhook)}>
                          New secret
                        </button>
                        <button type="button" className="button small bad" onClick={() => setDoomed(webhook)}>
                          Delete
                        </button>
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </ListTable>
          )}
        </Paged>
      </section>
      <FailedDeliveries webhooks={list.rows} />
      {editing !== null && (
        <WebhookDialog
          webhook={editing === "new" ? null : editing}
          onClose={() => setEditing(null)}
          onSaved={(webhook) => {
            setEditing(null);
            if (editing === "new") showSecretOf(webhook);
            refresh();
          }}
        />
      )}
      {leaked !== null && (
        <Confirm
          title="Give it a new signing secret?"
          action="Replace the secret"
          tone="bad"
          busy={rotate.isPending}
          onConfirm={() => rotate.mutate(leaked)}
          onClose={() => setLeaked(null)}
        >
          <p>
            {"What "}
            <Data text={leaked.url} />
            {
              " is sent from then on is signed with the new secret, at once. Until the receiver knows it, messages fail; those you can send again below."
            }
          </p>
        </Confirm>
      )}
      {doomed !== null && (
        <Confirm
          title="Delete this webhook?"
          action="Delete"
          tone="bad"
          busy={remove.isPending}
          onConfirm={() => remove.mutate(doomed)}
          onClose={() => setDoomed(null)}
        >
          <p>
            <Data text={doomed.url} /> gets nothing more. Deliveries under way end.
          </p>
        </Confirm>
      )}
    </>
  );
}

function WebhookDialog({
  webhook,
  onClose,
  onSaved,
}: {
  readonly webhook: Webhook | null;
  readonly onClose: () => void;
  readonly onSaved: (webhook: Webhook) => void;
}) {
  const client = useClient();
  const [all, setAll] = useState(webhook === null || isOfAll(webhook));
  const types = [...new Set([...sentTypes, ...(webhook?.event_types ?? [])])];
  const [none, setNone] = useState(false);
  const save = useMutation({
    mutationFn: async (form: FormData) => {
      const chosen = form.getAll("event_types");
      const event_types = types.filter((type) => chosen.includes(type));
      const input = {
        url: String(form.get("url")).trim(),
        description: String(form.get("description")).trim(),
        ...(all ? (webhook === null ? {} : { event_types: eventTypeNames }) : { event_types }),
      };
      if (webhook === null) return client.registerWebhook(input);
      return client.changeWebhook(webhook.id, changedOnly(input, webhook, await client.getWebhook(webhook.id)));
    },
    onSuccess: onSaved,
  });
  return (
    <Dialog title={webhook === null ? "Add a webhook" : "Change the webhook"} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const is_of_none = !all && !form.has("event_types");
          setNone(is_of_none);
          if (!is_of_none) save.mutate(form);
        }}
      >
        <TextField
          label="Address"
          name="url"
          type="url"
          required
          placeholder="https://example.com/hooks/countersign"
          hint="https, publicly reachable"
          defaultValue={webhook?.url ?? ""}
          maxLength={limits.webhook_url_chars_max}
        />
        <TextField
          label="Note"
          name="description"
          maxLength={limits.description_chars_max}
          defaultValue={webhook?.description ?? ""}
        />
        <label className="check">
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />
          All events
        </label>
        {!all && (
          <fieldset className="stack tight">
            <legend className="small muted">Events</legend>
            {types.map((type) => (
              <label key={type} className="check small">
                <input
                  type="checkbox"
                  name="event_types"
                  value={type}
                  defaultChecked={webhook === null || webhook.event_types.includes(type)}
                />
                {type}
              </label>
            ))}
          </fieldset>
        )}
        {none && (
          <p className="late" role="alert">
            Nothing was saved: choose at least one event.
          </p>
        )}
        {save.error !== null && <Failed error={save.error} />}
        <FormActions action="Save" disabled={save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
