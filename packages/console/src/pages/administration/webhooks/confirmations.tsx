import type { Webhook } from "@countersign/contract";
import { useState } from "react";
import { Confirm } from "../../../parts/forms/dialog.tsx";
import { SelectField } from "../../../parts/forms/field.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import type { WebhookChanges } from "./webhook-changes.ts";

export function NewSecretQuestion({
  webhook,
  rotate,
  onClose,
}: {
  readonly webhook: Webhook;
  readonly rotate: WebhookChanges["rotate"];
  readonly onClose: () => void;
}) {
  // An overlap is running, so only a rotation that ends it is possible.
  const at_once_only = webhook.secret_overlap_ends_at !== null;
  const [hours, setHours] = useState(at_once_only ? "0" : "24");
  return (
    <Confirm
      title="Give it a new signing secret?"
      action="Replace the secret"
      tone={hours === "0" ? "bad" : "primary"}
      busy={rotate.isPending}
      onConfirm={() => rotate.mutate({ webhook, overlap_seconds: Number(hours) * 3_600 })}
      onClose={onClose}
    >
      <p>
        {"For "}
        <Data text={webhook.url} />
      </p>
      {!at_once_only && (
        <SelectField
          label="The old secret ends"
          value={hours}
          onChange={(event) => setHours(event.target.value)}
          options={[
            ["24", "after 24 hours"],
            ["168", "after 7 days"],
            ["0", "at once, because it leaked"],
          ]}
        />
      )}
      <p>
        {hours === "0"
          ? "Every message is signed with the new secret from now on. Until the receiver knows it, messages fail; you can send those again below."
          : "Until then X-Service-Signature is of the old secret, and webhook-signature is of both. Let the receiver accept both secrets before that."}
      </p>
    </Confirm>
  );
}

export function DeleteQuestion({
  webhook,
  remove,
  onClose,
}: {
  readonly webhook: Webhook;
  readonly remove: WebhookChanges["remove"];
  readonly onClose: () => void;
}) {
  return (
    <Confirm
      title="Delete this webhook?"
      action="Delete"
      tone="bad"
      busy={remove.isPending}
      onConfirm={() => remove.mutate(webhook)}
      onClose={onClose}
    >
      <p>
        <Data text={webhook.url} /> gets no further messages. Its pending deliveries are cancelled.
      </p>
    </Confirm>
  );
}
