import { limits } from "@countersign/contract";
import { useSession } from "../../api/session.tsx";
import { FilterField, SelectField } from "../../parts/forms/field.tsx";
import { type QueueFilters, statusOf } from "./queue.ts";

const statuses = [
  ["pending", "Waiting"],
  ["decided", "Decided"],
  ["timed_out", "Timed out"],
  ["cancelled", "Cancelled"],
  ["all", "All"],
] as const;
const reviewers = [
  ["", "Everybody"],
  ["role:reviewer", "Reviewers"],
  ["role:operator", "Operators"],
  ["role:admin", "Admins"],
] as const;
const modes = [
  ["", "Live"],
  ["test", "Test"],
] as const;

export function QueueFilterForm({
  filters,
  onFilter,
}: {
  readonly filters: QueueFilters;
  readonly onFilter: (change: QueueFilters) => void;
}) {
  const { caller } = useSession();
  return (
    <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <SelectField
        label="Status"
        value={statusOf(filters)}
        onChange={({ target: { value } }) => onFilter({ status: value === "pending" ? "" : value })}
        options={statuses}
      />
      <FilterField
        label="Agent"
        maxLength={limits.agent_id_chars_max}
        filter={filters.agent_id}
        onFilter={(agent_id) => onFilter({ agent_id })}
      />
      <SelectField
        label="For"
        value={filters.reviewer ?? ""}
        onChange={(event) => onFilter({ reviewer: event.target.value })}
        options={[...reviewers, ...(caller?.id == null ? [] : [[caller.id, "Me by name"] as const])]}
      />
      <SelectField
        label="Mode"
        value={filters.mode ?? ""}
        onChange={(event) => onFilter({ mode: event.target.value })}
        options={modes}
      />
    </form>
  );
}
