import { useMembranes } from "../shadow-banner.tsx";
import { SelectField, TextField } from "./field.tsx";

interface Filter {
  /** Undefined or empty: all. */
  readonly filter: string | undefined;
  readonly onFilter: (filter: string) => void;
}

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

/** `none`: the meaning of no filter. */
export function MembraneFilter({ filter, onFilter, none = "All" }: Filter & { readonly none?: string }) {
  const membranes = useMembranes();
  return (
    <SelectField
      label="Membrane"
      value={filter ?? ""}
      onChange={(event) => onFilter(event.target.value)}
      options={[["", none], ...(membranes.data ?? []).map(({ membrane_id, name }) => [membrane_id, name] as const)]}
    />
  );
}

/** Returns the time in the API's form. The address has the same form, so that it means the same in every time zone. */
export const asTime = (text: string | undefined): string | undefined => {
  const at = new Date(text ?? "");
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
};

/** Returns the text for a datetime-local input, in the reader's time zone. */
const asLocal = (text: string | undefined): string => {
  const time = asTime(text);
  if (time === undefined) return "";
  const at = new Date(time);
  const [year, ...rest] = [at.getFullYear(), at.getMonth() + 1, at.getDate(), at.getHours(), at.getMinutes()];
  const [month, day, hours, minutes] = rest.map((part) => String(part).padStart(2, "0"));
  return `${String(year).padStart(4, "0")}-${month}-${day}T${hours}:${minutes}`;
};

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
