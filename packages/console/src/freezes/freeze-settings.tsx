/** What is frozen, the switch for the whole organization, and whether unfreezing takes two people. */
import type { Freeze } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useClient, useMay } from "../api/session.tsx";
import { Badge } from "../parts/records/badge.tsx";
import { Who } from "../parts/records/who.tsx";
import { Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { FreezeButton } from "./freeze-button.tsx";
import { freezeOf, useFreezes } from "./frozen.ts";

const organization = { kind: "organization", id: "" } as const;

export function FreezeSettings() {
  const freezes = useFreezes();
  return (
    <section className="card stack" aria-label="Freezes">
      <h2>Freezes</h2>
      <Loaded query={freezes} what="what is frozen">
        {(rows) => (
          <>
            {rows.length === 0 ? <p className="muted">Nothing is frozen.</p> : <FreezeTable rows={rows} />}
            {freezeOf(rows, organization) === undefined && (
              <div className="row">
                <span>The whole organization: </span>
                <FreezeButton target={organization} />
              </div>
            )}
          </>
        )}
      </Loaded>
      <SecondPerson />
    </section>
  );
}

function FreezeTable({ rows }: { readonly rows: readonly Freeze[] }) {
  return (
    <ListTable heads={["Frozen", "Mode", "Reason", "By", "Since"]} actions>
      {rows.map((row) => (
        <tr key={`${row.kind} ${row.name}`}>
          <td>
            {row.kind === "organization" ? "the organization" : `${row.kind} `}
            {row.kind !== "organization" && <Data text={row.name} chars_max={60} />}
          </td>
          <td>
            <Badge text={row.mode} tone={row.mode} />
          </td>
          <td>
            <Data text={row.reason} lines chars_max={300} />
          </td>
          <td>
            <Who id={row.frozen_by} />
          </td>
          <td>
            <Time at={row.frozen_at} />
          </td>
          <td>
            <FreezeButton target={{ kind: row.kind, id: row.kind === "organization" ? "" : row.name }} />
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

function SecondPerson() {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const admin = useMay("admin");
  const query = useQuery({ queryKey: ["organization"], queryFn: () => client.getOrganization() });
  const change = useMutation({
    mutationFn: (needed: boolean) => client.changeOrganization({ unfreeze_needs_second_person: needed }),
    onSuccess: (settings) => queries.setQueryData(["organization"], settings),
    onError: toasts.failed,
  });
  return (
    <Loaded query={query} what="the setting">
      {({ unfreeze_needs_second_person }) => (
        <label className="check">
          <input
            type="checkbox"
            checked={change.isPending ? change.variables : unfreeze_needs_second_person}
            disabled={!admin || change.isPending}
            onChange={(event) => change.mutate(event.target.checked)}
          />
          {" A second, different person must confirm each unfreezing"}
        </label>
      )}
    </Loaded>
  );
}
