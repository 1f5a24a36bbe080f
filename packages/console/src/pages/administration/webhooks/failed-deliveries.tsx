import type { Webhook } from "@countersign/contract";
import { useClient } from "../../../api/session.tsx";
import { SelectField } from "../../../parts/forms/field.tsx";
import { Empty } from "../../../parts/states.tsx";
import { Paged, usePaged } from "../../../parts/tables/paged.tsx";
import { useFilters } from "../../../shell/filters.ts";
import { FailedDelivery } from "./failed-delivery.tsx";
import { SendAllAgain } from "./send-all-again.tsx";

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
          <Empty title={filtered ? "No delivery to this receiver failed" : "Nothing failed"}>
            <p>Messages that failed three times are listed here. You can send them again.</p>
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
