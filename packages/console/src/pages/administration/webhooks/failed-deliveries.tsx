import type { Delivery, Webhook } from "@countersign/contract";
import { useClient } from "../../../api/session.tsx";
import { SelectField } from "../../../parts/forms/field.tsx";
import { Empty } from "../../../parts/states.tsx";
import { Paged, usePaged } from "../../../parts/tables/paged.tsx";
import { useFilters } from "../../../shell/filters.ts";
import { FailedDelivery } from "./failed-delivery.tsx";
import { SendAllAgain } from "./send-all-again.tsx";

const statuses = [
  ["failed", "failed"],
  ["any", "all"],
  ["pending", "in progress"],
  ["delivered", "delivered"],
  ["cancelled", "cancelled"],
] as const;

/** Reads the deliveries that the filters of the address name. By default those that failed. */
function useDeliveries() {
  const client = useClient();
  const [filters, setFilters] = useFilters(["webhook_id", "status"]);
  const status = filters.status ?? "failed";
  const only_failed = status === "failed";
  const list = usePaged(
    ["deliveries", filters.webhook_id, status],
    async (cursor) => {
      const place = {
        ...(filters.webhook_id ? { webhook_id: filters.webhook_id } : {}),
        ...(cursor === undefined ? {} : { cursor }),
      };
      const page = only_failed
        ? await client.listFailedDeliveries(place)
        : await client.listDeliveries({
            ...place,
            ...(status === "any" ? {} : { status: status as Delivery["status"] }),
          });
      return { rows: page.deliveries, next_cursor: page.next_cursor };
    },
    { refetchInterval: 15_000 },
  );
  return { filters, setFilters, status, only_failed, list };
}

export function FailedDeliveries({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  const { filters, setFilters, status, only_failed, list } = useDeliveries();
  const filtered = filters.webhook_id !== undefined;
  const url = (webhook_id: string) => webhooks.find(({ id }) => id === webhook_id)?.url ?? webhook_id;
  return (
    <section className="card stack tight" aria-label={only_failed ? "Failed deliveries" : "Deliveries"}>
      <div className="row between">
        <h2>{only_failed ? "Failed deliveries" : "Deliveries"}</h2>
        {only_failed && list.rows.length > 0 && <SendAllAgain webhook_id={filters.webhook_id} url={url} />}
      </div>
      {(filtered || webhooks.length > 0) && (
        <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
          <SelectField
            label="Status"
            value={status}
            onChange={(event) => setFilters({ status: event.target.value === "failed" ? "" : event.target.value })}
            options={statuses}
          />
          {(filtered || webhooks.length > 1) && (
            <SelectField
              label="Receiver"
              value={filters.webhook_id ?? ""}
              onChange={(event) => setFilters({ webhook_id: event.target.value })}
              options={[["", "All"], ...webhooks.map(({ id, url }) => [id, url] as const)]}
            />
          )}
        </form>
      )}
      <Paged
        list={list}
        what="deliveries"
        empty={
          <Empty
            title={
              only_failed ? (filtered ? "No delivery to this receiver failed" : "Nothing failed") : "No such delivery"
            }
          >
            <p>
              {only_failed
                ? "The service tries each message three times. Messages that failed each time are listed here, and you can send them again."
                : "Every message is listed here. Send a test above to see the first one."}
            </p>
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
