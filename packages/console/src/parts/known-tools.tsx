/** What a membrane's tools are, whatever an agent says of them. */
import type { CatalogueEntry } from "@countersign/contract";
import { useState } from "react";
import { Data } from "./data.tsx";
import { ListTable } from "./list-table.tsx";

/** The catalogue behind its number. There may be a thousand entries: they are drawn once they are asked for. */
export function KnownTools({ entries }: { readonly entries: readonly CatalogueEntry[] }) {
  const [open, setOpen] = useState(false);
  if (entries.length === 0) return "none: an action is what the agent says it is";
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{entries.length.toLocaleString("en")}</summary>
      {open && (
        <ListTable heads={["Tool", "Action type", "Data classes"]} caption="Known tools">
          {entries.map(({ verb, type, data_classes }) => (
            <tr key={verb}>
              <td className="mono">
                <Data text={verb} />
              </td>
              <td className="mono">
                <Data text={type} />
              </td>
              <td>{data_classes.length === 0 ? "as the agent says" : <Data text={data_classes.join(", ")} />}</td>
            </tr>
          ))}
        </ListTable>
      )}
    </details>
  );
}
