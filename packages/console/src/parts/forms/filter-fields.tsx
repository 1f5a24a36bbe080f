/** Filters that several pages have. */

import { useMembranes } from "../shadow-banner.tsx";
import { SelectField, TextField } from "./field.tsx";

interface Filter {
  /** Undefined, or empty: all of them. */
  readonly filter: string | undefined;
  readonly onFilter: (filter: string) => void;
}

/** Live, shadow or test. */
export function ModeFilter({ filter, onFilter }: Filter) {
  return (
    <SelectField
      label="Mode"
      value={filter ?? ""}
      onChange={(event) => onFilter(event.target.value)}
      options={[
        ["", "All"],
        ["live", "Live"],
        ["shadow", "Shadow"],
        ["test", "Test"],
      ]}
    />
  );
}

/** One of the organization's membranes. */
export function MembraneFilter({ filter, onFilter }: Filter) {
  const membranes = useMembranes();
  return (
    <SelectField
      label="Membrane"
      value={filter ?? ""}
      onChange={(event) => onFilter(event.target.value)}
      options={[["", "All"], ...(membranes.data ?? []).map(({ membrane_id, name }) => [membrane_id, name] as const)]}
    />
  );
}

/** A filter's time as the API takes it. In the address it stands so, too: whoever opens it sees the same, in any zone. */
export const asTime = (text: string | undefined): string | undefined => {
  const at = new Date(text ?? "");
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
};

/** What a datetime-local input shows: the reader's zone. */
const asLocal = (text: string | undefined): string => {
  const time = asTime(text);
  if (time === undefined) return "";
  const at = new Date(time);
  const [year, ...rest] = [at.getFullYear(), at.getMonth() + 1, at.getDate(), at.getHours(), at.getMinutes()];
  const [month, day, hours, minutes] = rest.map((part) => String(part).padStart(2, "0"));
  return `${String(year).padStart(4, "0")}-${month}-${day}T${hours}:${minutes}`;
};

/** A moment, chosen in the reader's zone. */
export function TimeFilter({ label, filter, onFilter }: Filter & { readonly label: string }) {
  return (
    <TextField
      label={label}
      type="datetime-local"
      value={asLocal(filter)}
      onChange={(event) => onFilter(asTime(event.target.value) ?? "")}
    />
  );
}
