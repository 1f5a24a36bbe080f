import type { Delivery, Webhook } from "@countersign/contract";
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
    mutationFn: ({ webhook, overlap_seconds }: { readonly webhook: Webhook; readonly overlap_seconds: number }) =>
      client.rotateWebhookSecret(webhook.id, { overlap_seconds }),
    onSuccess: showSecretOf,
    onError: toasts.failed,
    onSettled: () => {
      onRotated();
      refresh();
    },
  });
  const test = useMutation({
    mutationFn: async (webhook: Webhook) => {
      const sent = await client.testWebhook(webhook.id);
      const { delivery_id } = sent;
      return untilSettled(async () => (await client.listDeliveries({ delivery_id })).deliveries[0] ?? sent);
    },
    onSuccess: ({ status, error, attempts }) => {
      const [first] = attempts;
      if (status === "delivered")
        toasts.done("The receiver accepted the test", `in ${Math.round(first?.duration_ms ?? 0)} ms`);
      else toasts.told("The receiver did not accept the test", error ?? first?.error ?? "It has not answered yet.");
    },
    onError: toasts.failed,
    onSettled: () => {
      refresh();
      void queries.invalidateQueries({ queryKey: ["deliveries"] });
    },
  });
  const toggle = useMutation({
    mutationFn: (webhook: Webhook) => client.changeWebhook(webhook.id, { active: !webhook.active }),
    onSuccess: (webhook) => toasts.done(webhook.active ? "Webhook switched on" : "Webhook switched off"),
    onError: toasts.failed,
    onSettled: refresh,
  });
  return { remove, rotate, test, toggle, refresh, showSecretOf };
}

export type WebhookChanges = ReturnType<typeof useWebhookChanges>;

const look_every_ms = 500;
/** As long as a first attempt may take, and a little more. */
const looks_max = 24;

/** Reads the delivery until its first attempt ended. */
async function untilSettled(read: () => Promise<Delivery>): Promise<Delivery> {
  for (let look = 1; ; look += 1) {
    const delivery = await read();
    if (delivery.status !== "pending" || delivery.attempts.length > 0 || look === looks_max) return delivery;
    await new Promise((resolve) => setTimeout(resolve, look_every_ms));
  }
}
