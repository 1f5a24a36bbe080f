import type { Webhook } from "@countersign/contract";
import { useState } from "react";
import { useClient, useMay } from "../../api/session.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty } from "../../parts/states.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { DeleteQuestion, NewSecretQuestion } from "./webhooks/confirmations.tsx";
import { FailedDeliveries } from "./webhooks/failed-deliveries.tsx";
import { useWebhookChanges } from "./webhooks/webhook-changes.ts";
import { WebhookDialog } from "./webhooks/webhook-dialog.tsx";
import { WebhookTable } from "./webhooks/webhook-table.tsx";

export function WebhooksPage() {
  const client = useClient();
  const may = useMay("admin");
  const [editing, setEditing] = useState<Webhook | "new" | null>(null);
  const [doomed, setDoomed] = useState<Webhook | null>(null);
  const [leaked, setLeaked] = useState<Webhook | null>(null);
  const list = usePaged(["webhooks"], async (cursor) => {
    const page = await client.listWebhooks(cursor === undefined ? {} : { cursor });
    return { rows: page.webhooks, next_cursor: page.next_cursor };
  });
  const changes = useWebhookChanges({
    onRemoved: () => setDoomed(null),
    onRotated: () => setLeaked(null),
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
              <p>Add one to receive decisions as they are made.</p>
            </Empty>
          }
        >
          {(rows) => (
            <WebhookTable
              rows={rows}
              toggle={changes.toggle}
              onEdit={setEditing}
              onRotate={setLeaked}
              onDelete={setDoomed}
            />
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
            if (editing === "new") changes.showSecretOf(webhook);
            changes.refresh();
          }}
        />
      )}
      {leaked !== null && (
        <NewSecretQuestion webhook={leaked} rotate={changes.rotate} onClose={() => setLeaked(null)} />
      )}
      {doomed !== null && <DeleteQuestion webhook={doomed} remove={changes.remove} onClose={() => setDoomed(null)} />}
    </>
  );
}
