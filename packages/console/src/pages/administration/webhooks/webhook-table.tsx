import type { Webhook, WebhookHealth } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useMay } from "../../../api/session.tsx";
import { MoreMenu } from "../../../parts/forms/more-menu.tsx";
import { Badge } from "../../../parts/records/badge.tsx";
import { Who } from "../../../parts/records/who.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { ListTable } from "../../../parts/tables/list-table.tsx";
import { Time } from "../../../parts/time.tsx";
import { isOfAll } from "./event-types.ts";
import type { WebhookChanges } from "./webhook-changes.ts";

export type WebhookAct = "change" | "rotate" | "replay" | "delete";

interface Acts {
  readonly changes: Pick<WebhookChanges, "toggle" | "test">;
  readonly onAsk: (act: WebhookAct, webhook: Webhook) => void;
}

export function WebhookTable({
  rows,
  health,
  ...acts
}: Acts & { readonly rows: readonly Webhook[]; readonly health: readonly WebhookHealth[] | undefined }) {
  return (
    <ListTable heads={["Receiver", "State", "Accepted in 24 h", "p95 time", "Last success", "Gets"]} actions>
      {rows.map((webhook) => {
        const known = health?.find(({ webhook_id }) => webhook_id === webhook.id);
        return (
          <tr key={webhook.id}>
            <td>
              <Receiver webhook={webhook} />
            </td>
            <td>
              <State webhook={webhook} />
            </td>
            <td>{known === undefined ? "…" : <Success health={known} />}</td>
            <td className="nowrap">{known?.p95_ms == null ? "–" : `${known.p95_ms.toLocaleString("en")} ms`}</td>
            <td>{known?.last_success_at == null ? "none in 30 days" : <Time at={known.last_success_at} />}</td>
            <td className="small">
              {getsOf(webhook).map((part) => (
                <div key={part}>{part}</div>
              ))}
            </td>
            <td>
              <Buttons webhook={webhook} {...acts} />
            </td>
          </tr>
        );
      })}
    </ListTable>
  );
}

function Receiver({
  webhook: { url, description, escalation_id, created_by, created_at },
}: {
  readonly webhook: Webhook;
}) {
  return (
    <>
      <Data text={url} />
      {description !== "" && (
        <div className="small">
          <Data text={description} />
        </div>
      )}
      {escalation_id !== null && <div className="small muted mono">{`only ${escalation_id}`}</div>}
      <div className="small muted">
        {"created "}
        <Time at={created_at} />
        {created_by !== null && (
          <>
            {" by "}
            <Who id={created_by} />
          </>
        )}
      </div>
    </>
  );
}

function State({ webhook: { active, paused_at, secret_overlap_ends_at } }: { readonly webhook: Webhook }) {
  return (
    <>
      {paused_at !== null ? (
        <Badge text="paused" tone="block" />
      ) : (
        <Badge text={active ? "on" : "off"} tone={active ? "approve" : "plain"} />
      )}
      {secret_overlap_ends_at !== null && (
        <div className="small muted">
          {"two secrets, the old one ends "}
          <Time at={secret_overlap_ends_at} />
        </div>
      )}
    </>
  );
}

/** The share links to the failed deliveries behind it. */
function Success({
  health: { webhook_id, success_rate, attempts, accepted, failures_in_row },
}: {
  readonly health: WebhookHealth;
}) {
  if (success_rate === null) return <span className="muted">nothing sent</span>;
  // 99.96 % must not read as 100 %.
  const share = `${(Math.floor(success_rate * 1_000) / 10).toLocaleString("en")} %`;
  return (
    <>
      {accepted === attempts ? (
        <span>{share}</span>
      ) : (
        <Link to="/webhooks" search={{ webhook_id, status: "failed" } as never}>
          {share}
        </Link>
      )}
      <div className="small muted nowrap">{`${accepted.toLocaleString("en")} of ${attempts.toLocaleString("en")} attempts`}</div>
      {failures_in_row > 0 && <div className="small wrong nowrap">{`${failures_in_row} failed in a row`}</div>}
    </>
  );
}

function getsOf(webhook: Webhook): string[] {
  const { event_types, modes, membrane_ids, headers } = webhook;
  const own = Object.keys(headers);
  return [
    isOfAll(webhook) ? "all events" : event_types.length > 2 ? `${event_types.length} events` : event_types.join(", "),
    ...(modes === null ? [] : [`only ${modes.join(" and ")}`]),
    ...(membrane_ids === null ? [] : [membrane_ids.length === 1 ? "1 membrane" : `${membrane_ids.length} membranes`]),
    ...(own.length === 0 ? [] : [`with ${own.join(", ")}`]),
  ];
}

function Buttons({ webhook, changes: { toggle, test }, onAsk }: Acts & { readonly webhook: Webhook }) {
  const admin = useMay("admin");
  return (
    <span className="row">
      <button
        type="button"
        className="button small"
        disabled={test.isPending || !webhook.active || webhook.paused_at !== null}
        onClick={() => test.mutate(webhook)}
      >
        Send a test
      </button>
      {admin && (
        <button type="button" className="button small" onClick={() => onAsk("change", webhook)}>
          Change
        </button>
      )}
      <MoreMenu>
        <button type="button" className="button small" onClick={() => onAsk("replay", webhook)}>
          Replay
        </button>
        {admin && (
          <>
            <button type="button" className="button small" onClick={() => onAsk("rotate", webhook)}>
              New secret
            </button>
            <button
              type="button"
              className="button small"
              disabled={toggle.isPending}
              onClick={() => toggle.mutate(webhook)}
            >
              {webhook.active ? "Switch off" : "Switch on"}
            </button>
            <button type="button" className="button small bad" onClick={() => onAsk("delete", webhook)}>
              Delete
            </button>
          </>
        )}
      </MoreMenu>
    </span>
  );
}
