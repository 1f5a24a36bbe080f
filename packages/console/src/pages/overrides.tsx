import type { Override } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { Confirm } from "../parts/forms/dialog.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Badge } from "../parts/records/badge.tsx";
import { Approvers } from "../parts/records/who.tsx";
import { Empty } from "../parts/states.tsx";
import { Data, Given } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";

const tones: Record<Override["status"], string> = {
  pending_second: "escalate",
  active: "approve",
  consumed: "plain",
  expired: "plain",
  revoked: "block",
};
const words: Record<Override["status"], string> = {
  pending_second: "waits for a second person",
  active: "not used yet",
  consumed: "used",
  expired: "expired",
  revoked: "withdrawn",
};

export function OverridesPage() {
  const client = useClient();
  const [asked, setAsked] = useState<Override | null>(null);
  const list = usePaged(["overrides"], async (cursor) => {
    const page = await client.listOverrides(cursor === undefined ? {} : { cursor });
    return { rows: page.overrides, next_cursor: page.next_cursor };
  });
  const revoke = useRevoke(() => setAsked(null));
  return (
    <>
      <PageHead
        title="Overrides"
        about="Blocked actions that a person approved. Each override allows the agent’s next attempt within 24 hours, once."
      />
      <section className="card" aria-label="Overrides">
        <Paged
          list={list}
          what="overrides"
          empty={
            <Empty
              title="No overrides"
              action={
                <Link to="/decisions" search={{ verdict: "block" } as never} className="button">
                  Blocked actions
                </Link>
              }
            >
              <p>Operators override a block on the page of its decision.</p>
            </Empty>
          }
        >
          {(rows) => <OverrideTable rows={rows} onWithdraw={setAsked} />}
        </Paged>
      </section>
      {asked !== null && (
        <Confirm
          title="Withdraw this override?"
          action="Withdraw"
          tone="bad"
          busy={revoke.isPending}
          onConfirm={() => revoke.mutate(asked)}
          onClose={() => setAsked(null)}
        >
          <p>
            {"The next attempt of "}
            <Given text={asked.agent_id} chars_max={60} more={false} />
            {" is blocked again. Reason for the override: "}
            <Data text={asked.reason} chars_max={300} more={false} />
          </p>
        </Confirm>
      )}
    </>
  );
}

function useRevoke(onSettled: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: (override: Override) => client.revokeOverride(override.override_id),
    onSuccess: () => toasts.done("Override withdrawn"),
    onError: toasts.failed,
    onSettled: () => {
      onSettled();
      void queries.invalidateQueries({ queryKey: ["overrides"] });
    },
  });
}

function OverrideTable({
  rows,
  onWithdraw,
}: {
  readonly rows: readonly Override[];
  readonly onWithdraw: (override: Override) => void;
}) {
  const may = useMay("operator");
  return (
    <ListTable heads={["Agent", "State", "Reason", "Rules overridden", "By", "Ends"]} actions>
      {rows.map((row) => (
        <tr key={row.override_id}>
          <td>
            <Link to="/decisions/$intent_id" params={{ intent_id: row.intent_id }}>
              <Data text={row.agent_id} chars_max={60} />
            </Link>
          </td>
          <td>
            <Badge text={words[row.status]} tone={tones[row.status]} />
            {row.consumed_by !== null && (
              <div className="small">
                <Link to="/decisions/$intent_id" params={{ intent_id: row.consumed_by }}>
                  by this attempt
                </Link>
              </div>
            )}
          </td>
          <td>
            <Data text={row.reason} lines chars_max={300} />
          </td>
          <td>
            <Data text={row.policies_overridden.join(", ")} chars_max={200} />
          </td>
          <td>
            <Approvers override={row} />
          </td>
          <td>{row.status === "active" && row.expires_at !== null ? <Time at={row.expires_at} /> : "–"}</td>
          <td>
            {may && (row.status === "active" || row.status === "pending_second") && (
              <button type="button" className="button small" onClick={() => onWithdraw(row)}>
                Withdraw
              </button>
            )}
          </td>
        </tr>
      ))}
    </ListTable>
  );
}
