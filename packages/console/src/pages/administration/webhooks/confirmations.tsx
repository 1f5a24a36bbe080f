import type { Webhook } from "@countersign/contract";
import { Confirm } from "../../../parts/forms/dialog.tsx";
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
  return (
    <Confirm
      title="Give it a new signing secret?"
      action="Replace the secret"
      tone="bad"
      busy={rotate.isPending}
      onConfirm={() => rotate.mutate(webhook)}
      onClose={onClose}
    >
      <p>
        {"What "}
        <Data text={webhook.url} />
        {
          "is signed with the new secret from now on. Until the receiver knows it, messages fail; you can send those again below."
        }
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
