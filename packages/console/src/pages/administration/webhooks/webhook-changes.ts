import type { Webhook } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../../../api/session.tsx";
import { useShowSecret } from "../../../parts/forms/shown-secret.tsx";
import { useToasts } from "../../../parts/toasts.tsx";

export function useWebhookChanges({
  onRemoved,
  onRotated,
}: {
  /** Called after success and failure. */
  readonly onRemoved: () => void;
  readonly onRotated: () => void;
}) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const showSecret = useShowSecret();
  const refresh = () => void queries.invalidateQueries({ queryKey: ["webhooks"] });
  const showSecretOf = ({ secret }: Webhook) =>
    showSecret({
      title: "Its signing secret",
      about: "Your receiver checks every message with it.",
      text: secret,
      label: "Copy the secret",
      lost: "Give this webhook a new secret.",
    });
  const remove = useMutation({
    mutationFn: (webhook: Webhook) => client.deleteWebhook(webhook.id),
    onSuccess: () => toasts.done("Webhook deleted"),
    onError: toasts.failed,
    onSettled: () => {
      onRemoved();
      refresh();
    },
  });
  const rotate = useMutation({
    mutationFn: (webhook: Webhook) => client.rotateWebhookSecret(webhook.id),
    onSuccess: showSecretOf,
    onError: toasts.failed,
    onSettled: onRotated,
  });
  const toggle = useMutation({
    mutationFn: (webhook: Webhook) => client.changeWebhook(webhook.id, { active: !webhook.active }),
    onSuccess: (webhook) => toasts.done(webhook.active ? "Webhook switched on" : "Webhook switched off"),
    onError: toasts.failed,
    onSettled: refresh,
  });
  return { remove, rotate, toggle, refresh, showSecretOf };
}

export type WebhookChanges = ReturnType<typeof useWebhookChanges>;
