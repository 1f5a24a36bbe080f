import { limits, type ReplayInput, type Webhook } from "@countersign/contract";
import { pagesOf } from "@countersign/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useClient } from "../../../api/session.tsx";
import { nowMs } from "../../../browser/clock.ts";
import { Dialog, FormActions } from "../../../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../../../parts/forms/field.tsx";
import { Failed } from "../../../parts/states.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { useToasts } from "../../../parts/toasts.tsx";
import { messages } from "./send-all-again.tsx";

/** Returns the value of a datetime-local field, in the browser's time zone. */
function localText(ms: number): string {
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Sends the events of a time range again, page by page. */
export function ReplayDialog({ webhook, onClose }: { readonly webhook: Webhook; readonly onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [sent, setSent] = useState(0);
  const now = nowMs();
  const replay = useMutation({
    mutationFn: async (range: ReplayInput) => {
      let count = 0;
      const pages = pagesOf((place) =>
        client.replayDeliveries(webhook.id, range, { limit: limits.list_limit_max, ...place }),
      );
      for await (const { deliveries } of pages) {
        count += deliveries.length;
        setSent(count);
      }
      return count;
    },
    onSuccess: (count) => {
      if (count > 0) toasts.done(`${messages(count)} sent again`, "As new deliveries with three attempts each.");
      else toasts.told("Nothing to send", "No event of this time range is missing.");
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["deliveries"] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const timeOf = (name: string) => new Date(String(form.get(name))).toISOString();
    replay.mutate({ from: timeOf("from"), to: timeOf("to"), which: form.get("which") as "failed" | "all" });
  };
  return (
    <Dialog title="Send events again" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>
          {"To "}
          <Data text={webhook.url} chars_max={120} />
        </p>
        <div className="grid-2">
          <TextField
            label="From"
            name="from"
            type="datetime-local"
            required
            defaultValue={localText(now - 86_400_000)}
          />
          <TextField label="To" name="to" type="datetime-local" required defaultValue={localText(now + 60_000)} />
        </div>
        <SelectField
          label="Which events"
          name="which"
          hint="A receiver that skips known delivery ids gets each event as a new delivery."
          options={[
            ["failed", "those that no delivery succeeded for"],
            ["all", "all, also those that the receiver accepted"],
          ]}
        />
        {replay.isPending && <p role="status">{`${messages(sent)} so far …`}</p>}
        {replay.error !== null && <Failed error={replay.error} />}
        <FormActions action="Send again" disabled={replay.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
