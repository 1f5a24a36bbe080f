import type { CatalogueEntry, Membrane } from "@countersign/contract";
import { useState } from "react";
import { useMay } from "../../api/session.tsx";
import { Data } from "../tables/data.tsx";
import { ListTable } from "../tables/list-table.tsx";
import { ToolDialog } from "./tool-dialog.tsx";

/** Drawn on demand, because the catalogue may have 1,000 entries. */
export function KnownTools({ membrane: { membrane_id, action_catalogue } }: { readonly membrane: Membrane }) {
  const may = useMay("admin");
  const [open, setOpen] = useState(false);
  const [editing, setEditing] = useState<CatalogueEntry | "new" | null>(null);
  return (
    <div className="stack tight">
      {action_catalogue.length === 0 ? (
        <span>none: agents describe their own actions</span>
      ) : (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{action_catalogue.length.toLocaleString("en")}</summary>
          {open && <Tools entries={action_catalogue} onEdit={may ? setEditing : null} />}
        </details>
      )}
      {may && (
        <span>
          <button type="button" className="button small" onClick={() => setEditing("new")}>
            Add a tool
          </button>
        </span>
      )}
      {editing !== null && (
        <ToolDialog
          membrane_id={membrane_id}
          tool={editing === "new" ? null : editing}
          known={editing !== "new"}
          onClose={() => setEditing(null)}
        />
      )}
    </div>
  );
}

/** `onEdit` null: the caller may not edit. */
function Tools({
  entries,
  onEdit,
}: {
  readonly entries: readonly CatalogueEntry[];
  readonly onEdit: ((entry: CatalogueEntry) => void) | null;
}) {
  return (
    <ListTable
      heads={["Tool", "Action type", "Data classes", "Parameters"]}
      actions={onEdit !== null}
      caption="Known tools"
    >
      {entries.map((entry) => (
        <tr key={entry.verb}>
          <td className="mono">
            <Data text={entry.verb} />
          </td>
          <td className="mono">
            <Data text={entry.type} />
          </td>
          <td>
            {entry.data_classes.length === 0 ? "as the agent says" : <Data text={entry.data_classes.join(", ")} />}
          </td>
          <td>
            <Data text={parametersText(entry)} />
          </td>
          {onEdit !== null && (
            <td>
              <button type="button" className="button small" onClick={() => onEdit(entry)}>
                Change
              </button>
            </td>
          )}
        </tr>
      ))}
    </ListTable>
  );
}

function parametersText({ parameters = {} }: CatalogueEntry): string {
  const typed = Object.entries(parameters).map(([name, type]) => `${name} (${type})`);
  return typed.length === 0 ? "types not known" : typed.join(", ");
}
