import type { Webhook } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../../api/session.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty } from "../../parts/states.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { DeleteQuestion, NewSecretQuestion } from "./webhooks/confirmations.tsx";
import { FailedDeliveries } from "./webhooks/failed-deliveries.tsx";
import { PausedWebhooks } from "./webhooks/paused-webhooks.tsx";
import { ReplayDialog } from "./webhooks/replay-dialog.tsx";
import { useWebhookChanges } from "./webhooks/webhook-changes.ts";
import { WebhookDialog } from "./webhooks/webhook-dialog.tsx";
import { type WebhookAct, WebhookTable } from "./webhooks/webhook-table.tsx";

type Asked = { readonly act: "add"; readonly webhook: null } | { readonly act: WebhookAct; readonly webhook: Webhook };

export function WebhooksPage() {
  const client = useClient();
  const may = useMay("admin");
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = () => setAsked(null);
  const add = () => setAsked({ act: "add", webhook: null });
  const list = usePaged(
    ["webhooks"],
    async (cursor) => {
      const page = await client.listWebhooks(cursor === undefined ? {} : { cursor });
      return { rows: page.webhooks, next_cursor: page.next_cursor };
    },
    // The service may pause a webhook.
    { refetchInterval: 15_000 },
  );
  const health = useQuery({
    queryKey: ["webhooks", "health"],
    queryFn: () => client.listWebhookHealth(),
    refetchInterval: 15_000,
  });
  const changes = useWebhookChanges({ onRemoved: close, onRotated: close });
  const addButton = may && (
    <button type="button" className="button primary" onClick={add}>
      Add a webhook
    </button>
  );
  return (
    <>
      <PageHead title="Webhooks" about="Signed messages to your systems about decisions and reviews.">
        {list.rows.length > 0 && addButton}
      </PageHead>
      <PausedWebhooks webhooks={list.rows} />
      <section className="card" aria-label="Webhooks">
        <Paged
          list={list}
          what="webhooks"
          empty={
            <Empty title="No webhooks" action={addButton}>
              <p>A webhook sends your systems each decision and review at once, signed. You can send it a test.</p>
            </Empty>
          }
        >
          {(rows) => (
            <WebhookTable
              rows={rows}
              health={health.data}
              changes={changes}
              onAsk={(act, webhook) => setAsked({ act, webhook })}
            />
          )}
        </Paged>
      </section>
      <FailedDeliveries webhooks={list.rows} />
      {asked !== null && <Question asked={asked} changes={changes} onClose={close} />}
    </>
  );
}

function Question({
  asked,
  changes,
  onClose,
}: {
  readonly asked: Asked;
  readonly changes: ReturnType<typeof useWebhookChanges>;
  readonly onClose: () => void;
}) {
  switch (asked.act) {
    case "add":
    case "change":
      return (
        <WebhookDialog
          webhook={asked.webhook}
          onClose={onClose}
          onSaved={(webhook) => {
            onClose();
            if (asked.act === "add") changes.showSecretOf(webhook);
            changes.refresh();
          }}
        />
      );
    case "rotate":
      return <NewSecretQuestion webhook={asked.webhook} rotate={changes.rotate} onClose={onClose} />;
    case "replay":
      return <ReplayDialog webhook={asked.webhook} onClose={onClose} />;
    case "delete":
      return <DeleteQuestion webhook={asked.webhook} remove={changes.remove} onClose={onClose} />;
    default:
      return asked satisfies never;
  }
}
