import type { Grant } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { Confirm } from "../parts/forms/dialog.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Badge } from "../parts/records/badge.tsx";
import { Who } from "../parts/records/who.tsx";
import { Empty } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";

const tones: Record<Grant["status"], string> = {
  active: "approve",
  rule_changed: "escalate",
  spent: "plain",
  expired: "plain",
  revoked: "block",
};
const words: Record<Grant["status"], string> = {
  active: "in force",
  rule_changed: "rule changed",
  spent: "used up",
  expired: "expired",
  revoked: "revoked",
};

export function GrantsPage() {
  const client = useClient();
  const [asked, setAsked] = useState<Grant | null>(null);
  const list = usePaged(["grants"], async (cursor) => {
    const page = await client.listGrants(cursor === undefined ? {} : { cursor });
    return { rows: page.grants, next_cursor: page.next_cursor };
  });
  const revoke = useRevoke(() => setAsked(null));
  return (
    <>
      <PageHead
        title="Grants"
        about="Similar actions that a person allowed in advance, a limited number of times and until an expiry time."
      />
      <section className="card" aria-label="Grants">
        <Paged
          list={list}
          what="grants"
          empty={
            <Empty
              title="No grants"
              action={
                <Link to="/review" className="button">
                  Held actions
                </Link>
              }
            >
              <p>Reviewers make a grant on the page of a held action, if its rules permit grants.</p>
            </Empty>
          }
        >
          {(rows) => <GrantTable rows={rows} onRevoke={setAsked} />}
        </Paged>
      </section>
      {asked !== null && (
        <Confirm
          title="Revoke this grant?"
          action="Revoke"
          tone="bad"
          busy={revoke.isPending}
          onConfirm={() => revoke.mutate(asked)}
          onClose={() => setAsked(null)}
        >
          <p>
            {"People decide on such actions again. The grant: "}
            <Data text={asked.summary} chars_max={600} more={false} />
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
    mutationFn: (grant: Grant) => client.revokeGrant(grant.grant_id),
    onSuccess: () => toasts.done("Grant revoked"),
    onError: toasts.failed,
    onSettled: () => {
      onSettled();
      void queries.invalidateQueries({ queryKey: ["grants"] });
    },
  });
}

function GrantTable({
  rows,
  onRevoke,
}: {
  readonly rows: readonly Grant[];
  readonly onRevoke: (grant: Grant) => void;
}) {
  const may = useMay("reviewer");
  return (
    <ListTable heads={["Allows", "State", "Used", "Reason", "By", "Ends"]} actions>
      {rows.map((row) => (
        <tr key={row.grant_id}>
          <td>
            <Data text={row.summary} chars_max={300} />
            <div className="small">
              <Link to="/decisions/$intent_id" params={{ intent_id: row.intent_id }}>
                created from this action
              </Link>
            </div>
          </td>
          <td>
            <Badge text={words[row.status]} tone={tones[row.status]} />
          </td>
          <td>{`${row.times_used} of ${row.times}`}</td>
          <td>
            <Data text={row.reason} lines chars_max={300} />
          </td>
          <td>
            <Who id={row.granted_by} />
          </td>
          <td>
            <Time at={row.expires_at} />
          </td>
          <td>
            {may && (row.status === "active" || row.status === "rule_changed") && (
              <button type="button" className="button small" onClick={() => onRevoke(row)}>
                Revoke
              </button>
            )}
          </td>
        </tr>
      ))}
    </ListTable>
  );
}
