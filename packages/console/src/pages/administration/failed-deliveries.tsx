/** The deliveries that failed, below the webhooks. */
import type { Delivery, Webhook } from "@countersign/contract";
import { limits } from "@countersign/contract";
import { pagesOf } from "@countersign/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { createRest, secondsToRest } from "../../api/rest.ts";
import { useClient } from "../../api/session.tsx";
import { Confirm } from "../../parts/forms/dialog.tsx";
import { SelectField } from "../../parts/forms/field.tsx";
import { Badge } from "../../parts/records/badge.tsx";
import { Empty } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { useToasts } from "../../parts/toasts.tsx";
import { useFilters } from "../../shell/filters.ts";

/** What no receiver took in three attempts, and what became of it when it was sent again. */
export function FailedDeliveries({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  const client = useClient();
  const [filters, setFilters] = useFilters(["webhook_id"]);
  const list = usePaged(
    ["deliveries", filters.webhook_id],
    async (cursor) => {
      const page = await client.listFailedDeliveries({
        ...(filters.webhook_id ? { webhook_id: filters.webhook_id } : {}),
        ...(cursor === undefined ? {} : { cursor }),
      });
      return { rows: page.deliveries, next_cursor: page.next_cursor };
    },
    { refetchInterval: 15_000 },
  );
  const filtered = filters.webhook_id !== undefined;
  const url = (webhook_id: string) => webhooks.find(({ id }) => id === webhook_id)?.url ?? webhook_id;
  return (
    <section className="card stack tight" aria-label="Failed deliveries">
      <div className="row between">
        <h2>Failed deliveries</h2>
        {list.rows.length > 0 && <SendAllAgain webhook_id={filters.webhook_id} url={url} />}
      </div>
      {(filtered || webhooks.length > 1) && (
        <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
          <SelectField
            label="Receiver"
            value={filters.webhook_id ?? ""}
            onChange={(event) => setFilters({ webhook_id: event.target.value })}
            options={[["", "All"], ...webhooks.map(({ id, url }) => [id, url] as const)]}
          />
        </form>
      )}
      <Paged
        list={list}
        what="deliveries"
        empty={
          <Empty title={filtered ? "Nothing of this receiver failed" : "Nothing failed"}>
            <p>A message that its receiver did not take in three attempts stands here and can be sent again.</p>
          </Empty>
        }
      >
        {(rows) => (
          <ul className="plain stack tight">
            {rows.map((delivery) => (
              <FailedDelivery key={delivery.delivery_id} delivery={delivery} url={url(delivery.webhook_id)} />
            ))}
          </ul>
        )}
      </Paged>
    </section>
  );
}

/**
 * Sends page after page again, with a rest where the budget of requests is used up: who begins anew is on the first page.
 * Closing the question stops behind the page that is under way.
 */
function SendAllAgain({
  webhook_id,
  url,
}: {
  readonly webhook_id: string | undefined;
  readonly url: (webhook_id: string) => string;
}) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [asked, setAsked] = useState(false);
  const [sent, setSent] = useState(0);
  const [resting, setResting] = useState(false);
  const stopped = useRef(false);
  const [rest] = useState(createRest);
  async function sendPage(place: { readonly cursor?: string }) {
    const query = { limit: limits.list_limit_max, ...(webhook_id === undefined ? {} : { webhook_id }), ...place };
    while (!stopped.current) {
      try {
        return await client.retryFailedDeliveries(query);
      } catch (error) {
        const seconds = secondsToRest(error);
        if (seconds === null) throw error;
        setResting(true);
        await rest.take(seconds);
        setResting(false);
      }
    }
    return { deliveries: [], next_cursor: null };
  }
  const retry = useMutation({
    mutationFn: async () => {
      let count = 0;
      for await (const { deliveries } of pagesOf(sendPage)) {
        count += deliveries.length;
        setSent(count);
      }
      return count;
    },
    onSuccess: (count) => {
      if (count > 0)
        toasts.done(`${messages(count)} sent again`, "Each as a new delivery with three attempts of its own.");
      else toasts.told("Nothing to send", "All of it was sent again already, or has no webhook that is on.");
    },
    onError: toasts.failed,
    onSettled: () => {
      setAsked(false);
      return queries.invalidateQueries({ queryKey: ["deliveries"] });
    },
  });
  return (
    <>
      <button
        type="button"
        className="button small"
        disabled={retry.isPending}
        onClick={() => {
          stopped.current = false;
          setSent(0);
          setAsked(true);
        }}
      >
        Send all again
      </button>
      {asked && (
        <Confirm
          title="Send all again?"
          action="Send all again"
          busy={retry.isPending}
          onConfirm={() => retry.mutate()}
          onClose={() => {
            stopped.current = true;
            rest.end();
            setAsked(false);
          }}
        >
          {webhook_id === undefined ? (
            <p>What failed goes to its receiver again, once for each event.</p>
          ) : (
            <p>
              What failed goes to <Data text={url(webhook_id)} chars_max={120} /> again, once for each event.
            </p>
          )}
          <p className="small muted">
            Passed over is what was sent again already, unless that was cancelled, and what has no webhook that is on.
          </p>
          {retry.isPending && (
            <p role="status">
              {`${messages(sent)} so far${resting ? "; it goes on by itself as soon as there is room" : ""} …`}
            </p>
          )}
        </Confirm>
      )}
    </>
  );
}

const messages = (count: number) => (count === 1 ? "One message" : `${count.toLocaleString("en")} messages`);

/** What became of a failed delivery when it was last sent again. */
const afterwards: Record<Delivery["status"], { readonly text: string; readonly tone: string }> = {
  pending: { text: "sent again: under way", tone: "escalate" },
  delivered: { text: "sent again: delivered", tone: "approve" },
  failed: { text: "sent again: failed", tone: "block" },
  cancelled: { text: "sent again: cancelled with its webhook", tone: "plain" },
};

function FailedDelivery({ delivery, url }: { readonly delivery: Delivery; readonly url: string }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const retry = useMutation({
    mutationFn: () => client.retryDelivery(delivery.delivery_id),
    onSuccess: () => toasts.done("Sent again", "As a new delivery with three attempts of its own."),
    onError: toasts.failed,
    // Awaited: until the list tells that it is under way, the button stays off.
    onSettled: () => queries.invalidateQueries({ queryKey: ["deliveries"] }),
  });
  const again = delivery.latest_retry?.status;
  const last = delivery.attempts.at(-1);
  return (
    <li className="reason">
      <div className="row between">
        <span className="grow">
          <strong>{delivery.event_type}</strong>
          {" to "}
          <Data text={url} chars_max={120} />
        </span>
        <button
          type="button"
          className="button small"
          disabled={retry.isPending || again === "pending"}
          onClick={() => retry.mutate()}
        >
          Send again
        </button>
      </div>
      <p className="small muted">
        <span className="mono">{delivery.delivery_id}</span>
        {" failed "}
        {delivery.failed_at !== null && <Time at={delivery.failed_at} />}
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
      <details className="small">
        <summary>
          {delivery.attempts.length === 1 ? "1 attempt" : `${delivery.attempts.length} attempts, the last`}
          {": "}
          {last !== undefined && <Answer attempt={last} />}
        </summary>
        <ListTable
          heads={["Attempt", "When", "Answer", "Took"]}
          numbers={1}
          caption={`Attempts of ${delivery.delivery_id}`}
        >
          {delivery.attempts.map((attempt) => (
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
    </li>
  );
}

/** What the receiver said to one attempt, or why it said nothing. */
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
