/** Filters that several pages have. */
import { SelectField } from "./field.tsx";
import { useMembranes } from "./shadow-banner.tsx";

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
