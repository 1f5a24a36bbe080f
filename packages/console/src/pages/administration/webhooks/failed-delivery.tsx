import type { Delivery } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient } from "../../../api/session.tsx";
import { Badge } from "../../../parts/records/badge.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { ListTable } from "../../../parts/tables/list-table.tsx";
import { Time } from "../../../parts/time.tsx";
import { useToasts } from "../../../parts/toasts.tsx";

/** The result of the last retry, by the status of its delivery. */
const afterwards: Record<Delivery["status"], { readonly text: string; readonly tone: string }> = {
  pending: { text: "sent again: in progress", tone: "escalate" },
  delivered: { text: "sent again: delivered", tone: "approve" },
  failed: { text: "sent again: failed", tone: "block" },
  cancelled: { text: "sent again: cancelled with its webhook", tone: "plain" },
};

const statusWords: Record<Delivery["status"], string> = {
  pending: "in progress",
  delivered: "delivered",
  failed: "failed",
  cancelled: "cancelled",
};

export function FailedDelivery({ delivery, url }: { readonly delivery: Delivery; readonly url: string }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const retry = useMutation({
    mutationFn: () => client.retryDelivery(delivery.delivery_id),
    onSuccess: () => toasts.done("Sent again", "As a new delivery with three attempts."),
    onError: toasts.failed,
    // Awaited, so that the button stays disabled until the list shows the running retry.
    onSettled: () => queries.invalidateQueries({ queryKey: ["deliveries"] }),
  });
  const again = delivery.latest_retry?.status;
  return (
    <li className="reason">
      <div className="row between">
        <span className="grow">
          <strong>{delivery.event_type}</strong>
          {" to "}
          <Data text={url} chars_max={120} />
        </span>
        {delivery.status === "failed" && (
          <button
            type="button"
            className="button small"
            disabled={retry.isPending || again === "pending"}
            onClick={() => retry.mutate()}
          >
            Send again
          </button>
        )}
      </div>
      <p className="small muted">
        <span className="mono">{delivery.delivery_id}</span>
        {delivery.failed_at === null ? ` ${statusWords[delivery.status]}, made ` : " failed "}
        <Time at={delivery.failed_at ?? delivery.created_at} />
        {delivery.intent_id !== null && (
          <>
            {" · "}
            <Link to="/decisions/$intent_id" params={{ intent_id: delivery.intent_id }}>
              its decision
            </Link>
          </>
        )}
      </p>
      {again !== undefined && (
        <p>
          <Badge {...afterwards[again]} />
        </p>
      )}
      <Attempts delivery={delivery} />
    </li>
  );
}

function Attempts({ delivery: { delivery_id, attempts, error } }: { readonly delivery: Delivery }) {
  const last = attempts.at(-1);
  if (last === undefined) return error === null ? null : <p className="small">{error}</p>;
  return (
    <details className="small">
      <summary>
        {attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts, the last`}
        {": "}
        <Answer attempt={last} />
      </summary>
      <ListTable heads={["Attempt", "When", "Answer", "Took"]} numbers={1} caption={`Attempts of ${delivery_id}`}>
        {attempts.map((attempt) => (
          <tr key={attempt.number}>
            <td>{attempt.number}</td>
            <td>
              <Time at={attempt.at} />
            </td>
            <td>
              <Answer attempt={attempt} />
            </td>
            <td className="num">{`${Math.round(attempt.duration_ms)} ms`}</td>
          </tr>
        ))}
      </ListTable>
    </details>
  );
}

function Answer({ attempt: { response_status, error } }: { readonly attempt: Delivery["attempts"][number] }) {
  return (
    <>
      {response_status ?? "no answer"}
      {error !== null && (
        <>
          {" – "}
          <Data text={error} chars_max={200} />
        </>
      )}
    </>
  );
}
