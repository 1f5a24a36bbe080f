import type { Webhook } from "@countersign/contract";
import { useMay } from "../../../api/session.tsx";
import { Badge } from "../../../parts/records/badge.tsx";
import { Who } from "../../../parts/records/who.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { ListTable } from "../../../parts/tables/list-table.tsx";
import { Time } from "../../../parts/time.tsx";
import { isOfAll } from "./event-types.ts";
import type { WebhookChanges } from "./webhook-changes.ts";

interface Acts {
  readonly toggle: WebhookChanges["toggle"];
  readonly onEdit: (webhook: Webhook) => void;
  readonly onRotate: (webhook: Webhook) => void;
  readonly onDelete: (webhook: Webhook) => void;
}

export function WebhookTable({ rows, ...acts }: Acts & { readonly rows: readonly Webhook[] }) {
  const may = useMay("admin");
  return (
    <ListTable heads={["Receiver", "Events", "Made by", "State", "Since"]} actions>
      {rows.map((webhook) => (
        <tr key={webhook.id}>
          <td>
            <Receiver webhook={webhook} />
          </td>
          <td className="small">{isOfAll(webhook) ? "all" : webhook.event_types.join(", ")}</td>
          <td>{webhook.created_by === null ? "–" : <Who id={webhook.created_by} />}</td>
          <td>
            <Badge text={webhook.active ? "on" : "off"} tone={webhook.active ? "approve" : "plain"} />
          </td>
          <td>
            <Time at={webhook.created_at} />
          </td>
          <td>{may && <Buttons webhook={webhook} {...acts} />}</td>
        </tr>
      ))}
    </ListTable>
  );
}

function Receiver({ webhook: { url, description, escalation_id } }: { readonly webhook: Webhook }) {
  return (
    <>
      <Data text={url} />
      {description !== "" && (
        <div className="small muted">
          <Data text={description} />
        </div>
      )}
      {escalation_id !== null && <div className="small muted mono">{`only ${escalation_id}`}</div>}
    </>
  );
}

function Buttons({ webhook, toggle, onEdit, onRotate, onDelete }: Acts & { readonly webhook: Webhook }) {
  return (
    <span className="row">
      <button type="button" className="button small" onClick={() => onEdit(webhook)}>
        Change
      </button>
      <button type="button" className="button small" disabled={toggle.isPending} onClick={() => toggle.mutate(webhook)}>
        {webhook.active ? "Switch off" : "Switch on"}
      </button>
      <button type="button" className="button small" onClick={() => onRotate(webhook)}>
        New secret
      </button>
      <button type="button" className="button small bad" onClick={() => onDelete(webhook)}>
        Delete
      </button>
    </span>
  );
}
