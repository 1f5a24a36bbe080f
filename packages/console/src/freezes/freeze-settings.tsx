import type { Freeze } from "@countersign/contract";
import { OrganizationSwitch } from "../parts/organization-switch.tsx";
import { Badge } from "../parts/records/badge.tsx";
import { Who } from "../parts/records/who.tsx";
import { Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Time } from "../parts/time.tsx";
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
      <OrganizationSwitch
        label="A second person must confirm each unfreezing"
        isOn={(settings) => settings.unfreeze_needs_second_person}
        change={(on) => ({ unfreeze_needs_second_person: on })}
      />
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
