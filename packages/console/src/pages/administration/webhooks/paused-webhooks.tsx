import type { Webhook } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../../../api/session.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { Time } from "../../../parts/time.tsx";
import { useToasts } from "../../../parts/toasts.tsx";
import { messages, useSendAll } from "./send-all-again.tsx";

/** Says which webhooks are paused. One click resumes a webhook and sends what was kept. */
export function PausedWebhooks({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  return webhooks.flatMap((webhook) =>
    webhook.paused_at === null ? [] : [<Paused key={webhook.id} webhook={webhook} paused_at={webhook.paused_at} />],
  );
}

function Paused({ webhook: { id, url }, paused_at }: { readonly webhook: Webhook; readonly paused_at: string }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const refresh = () => void queries.invalidateQueries({ queryKey: ["webhooks"] });
  const sending = useSendAll(id, refresh);
  const resume = useMutation({
    mutationFn: () => client.resumeWebhook(id),
    onSuccess: sending.begin,
    onError: toasts.failed,
  });
  const busy = resume.isPending || sending.isPending;
  return (
    <div className="banner bad" role="status">
      <div className="grow">
        <strong>
          <Data text={new URL(url).host} />
          {" is paused since "}
          <Time at={paused_at} />
        </strong>
        {"Too many deliveries failed. Since then each event is kept as a failed delivery, and nothing is lost."}
        {sending.isPending && <p role="status">{`${messages(sending.sent)} sent so far …`}</p>}
      </div>
      <button type="button" className="button primary" disabled={busy} onClick={() => resume.mutate()}>
        Resume and send what was kept
      </button>
    </div>
  );
}
