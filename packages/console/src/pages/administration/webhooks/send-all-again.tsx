import { limits } from "@countersign/contract";
import { pagesOf } from "@countersign/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { createRest, secondsToRest } from "../../../api/rest.ts";
import { useClient } from "../../../api/session.tsx";
import { Confirm } from "../../../parts/forms/dialog.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { useToasts } from "../../../parts/toasts.tsx";

export const messages = (count: number) => (count === 1 ? "One message" : `${count.toLocaleString("en")} messages`);

export function SendAllAgain({
  webhook_id,
  url,
}: {
  readonly webhook_id: string | undefined;
  readonly url: (webhook_id: string) => string;
}) {
  const [asked, setAsked] = useState(false);
  const sending = useSendAll(webhook_id, () => setAsked(false));
  return (
    <>
      <button
        type="button"
        className="button small"
        disabled={sending.isPending}
        onClick={() => {
          sending.reset();
          setAsked(true);
        }}
      >
        Send all again
      </button>
      {asked && (
        <Confirm
          title="Send all again?"
          action="Send all again"
          busy={sending.isPending}
          onConfirm={sending.begin}
          onClose={() => {
            sending.stop();
            setAsked(false);
          }}
        >
          {webhook_id === undefined ? (
            <p>Every failed message is sent to its receiver again, once for each event.</p>
          ) : (
            <p>
              Failed messages to <Data text={url(webhook_id)} chars_max={120} /> are sent again, once for each event.
            </p>
          )}
          <p className="small muted">
            Skips messages without an active webhook, and messages that were already sent again, unless that delivery
            was cancelled.
          </p>
          {sending.isPending && (
            <p role="status">
              {`${messages(sending.sent)} so far${sending.resting ? "; waiting for the rate limit" : ""} …`}
            </p>
          )}
        </Confirm>
      )}
    </>
  );
}

/**
 * Retries one page of deliveries after the other. Waits at the rate limit, because a second run would begin at the
 * first page. `stop` ends after the current page.
 */
export function useSendAll(webhook_id: string | undefined, onSettled: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
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
      if (count > 0) toasts.done(`${messages(count)} sent again`, "As new deliveries with three attempts each.");
      else toasts.told("Nothing to send", "All were already sent again, or have no active webhook.");
    },
    onError: toasts.failed,
    onSettled: () => {
      onSettled();
      return queries.invalidateQueries({ queryKey: ["deliveries"] });
    },
  });
  return {
    sent,
    resting,
    isPending: retry.isPending,
    begin: () => retry.mutate(),
    reset: () => {
      stopped.current = false;
      setSent(0);
    },
    stop: () => {
      stopped.current = true;
      rest.end();
    },
  };
}
