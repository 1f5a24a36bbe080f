import { type EventType, eventTypeNames, limits, type Webhook } from "@countersign/contract";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useClient } from "../../../api/session.tsx";
import { Dialog, FormActions } from "../../../parts/forms/dialog.tsx";
import { TextField } from "../../../parts/forms/field.tsx";
import { changedOnly } from "../../../parts/records/changed-only.ts";
import { Failed } from "../../../parts/states.tsx";
import { isOfAll, sentTypes } from "./event-types.ts";
import { settingsOf, useMembranes, WebhookFilters } from "./webhook-filters.tsx";

/** `webhook` null: a new one. */
export function WebhookDialog({
  webhook,
  onClose,
  onSaved,
}: {
  readonly webhook: Webhook | null;
  readonly onClose: () => void;
  readonly onSaved: (webhook: Webhook) => void;
}) {
  const [all, setAll] = useState(webhook === null || isOfAll(webhook));
  const types = [...new Set([...sentTypes, ...(webhook?.event_types ?? [])])];
  const [none, setNone] = useState(false);
  const save = useSave(webhook, all ? "all" : types, onSaved);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const is_of_none = !all && !form.has("event_types");
    setNone(is_of_none);
    if (!is_of_none) save.mutate(form);
  };
  return (
    <Dialog title={webhook === null ? "Add a webhook" : "Change the webhook"} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
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
        {!all && <EventChoice types={types} chosen={webhook?.event_types ?? types} />}
        <WebhookFilters webhook={webhook} />
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

function useSave(webhook: Webhook | null, types: "all" | readonly EventType[], onSaved: (webhook: Webhook) => void) {
  const client = useClient();
  const membranes = useMembranes();
  return useMutation({
    mutationFn: async (form: FormData) => {
      const chosen = form.getAll("event_types");
      const input = {
        url: String(form.get("url")).trim(),
        description: String(form.get("description")).trim(),
        ...settingsOf(form, membranes?.length ?? 0),
        ...(types !== "all"
          ? { event_types: types.filter((type) => chosen.includes(type)) }
          : webhook === null
            ? {}
            : { event_types: eventTypeNames }),
      };
      if (webhook === null) return client.registerWebhook(input);
      const { headers, ...change } = changedOnly(input, webhook, await client.getWebhook(webhook.id));
      // A change replaces all headers, so the whole list is sent if one of them changed.
      const same = JSON.stringify(input.headers) === JSON.stringify(webhook.headers);
      return client.changeWebhook(webhook.id, same ? change : { ...change, headers: input.headers });
    },
    onSuccess: onSaved,
  });
}

function EventChoice({ types, chosen }: { readonly types: readonly EventType[]; readonly chosen: readonly string[] }) {
  return (
    <fieldset className="stack tight">
      <legend>Events</legend>
      {types.map((type) => (
        <label key={type} className="check small">
          <input type="checkbox" name="event_types" value={type} defaultChecked={chosen.includes(type)} />
          {type}
        </label>
      ))}
    </fieldset>
  );
}
