import type { AttentionItem, Overview } from "@countersign/contract";
import { useAttention } from "../../parts/attention.ts";
import { Failed } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Time } from "../../parts/time.tsx";
import { Remedies } from "../../remedies/remedies.tsx";
import { SharedReviews } from "../../remedies/shared-reviews.tsx";
import { KeyWarnings } from "./key-warnings.tsx";

/** Lists the things that need a person now, once for each cause, with the way to the remedy. */
export function Attention({ keys }: Pick<Overview, "keys">) {
  const query = useAttention();
  const items = query.data ?? [];
  if (query.data === undefined && query.error === null) return null;
  return (
    <section className="card stack tight" aria-label="Needs attention">
      <h2>Needs attention</h2>
      {query.data === undefined ? (
        <Failed error={query.error} retry={() => void query.refetch()} />
      ) : items.length === 0 && keys.length === 0 ? (
        <p className="muted">Nothing needs you.</p>
      ) : (
        <ul className="plain attention">
          {items.map((item) => (
            <li key={`${item.kind} ${item.what} ${item.membrane_id}`}>
              <span className={`dot ${urgent.has(item.kind) ? "block" : "escalate"}`} aria-hidden="true" />
              <span className="grow">
                <Data text={item.message} chars_max={300} />
                {item.at_least && <span className="muted"> There are more.</span>}
                {item.since !== null && (
                  <span className="muted small">
                    {" since "}
                    <Time at={item.since} />
                  </span>
                )}
              </span>
              <span className="row small">
                <SharedReviews item={item} />
                <Remedies item={item} />
              </span>
            </li>
          ))}
          <KeyWarnings keys={keys} />
        </ul>
      )}
    </section>
  );
}

const urgent: ReadonlySet<AttentionItem["kind"]> = new Set(["executed_although_blocked", "due_soon", "no_reviewers"]);
