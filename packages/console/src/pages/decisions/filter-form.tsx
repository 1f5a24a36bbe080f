import { limits } from "@countersign/contract";
import { useState } from "react";
import { useReads } from "../../api/session.tsx";
import { SelectField } from "../../parts/forms/field.tsx";
import { MembraneFilter, ModeFilter, TimeFilter } from "../../parts/forms/filter-fields.tsx";
import { AgentFilter } from "../agents/agent-filter.tsx";
import { type DecisionFilters, noFilters } from "./decision-query.ts";

export function FilterForm({
  filters,
  onFilter,
  filtered,
}: {
  readonly filters: DecisionFilters;
  readonly onFilter: (change: DecisionFilters) => void;
  /** At least one filter is set. */
  readonly filtered: boolean;
}) {
  const reads = useReads();
  const { execution = "", outcome = execution } = filters;
  // On a narrow screen the filters would hide the decisions.
  const [wide] = useState(() => matchMedia("(min-width: 701px)").matches);
  return (
    <details className="more-filters" open={wide || filtered}>
      <summary>Filters</summary>
      <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <AgentFilter
          maxLength={limits.agent_id_chars_max}
          filter={filters.agent_id}
          onFilter={(agent_id) => onFilter({ agent_id })}
        />
        <SelectField
          label="Verdict"
          value={filters.verdict ?? ""}
          onChange={(event) => onFilter({ verdict: event.target.value })}
          options={[
            ["", "All"],
            ["approve", "Approved"],
            ["approve_modified", "Approved with changes"],
            ["escalate", "Escalated"],
            ["block", "Blocked"],
          ]}
        />
        <SelectField
          label="What followed"
          value={outcome}
          onChange={({ target: { value } }) =>
            onFilter(value === "unknown" ? { execution: value, outcome: "" } : { outcome: value, execution: "" })
          }
          options={[
            ["", "All"],
            ["waiting", "Waits for review"],
            ["overridden", "Overridden"],
            ["executed", "Executed"],
            ["failed", "Failed"],
            ["withdrawn", "Withdrawn"],
            ["contradicted", "Executed anyway"],
            ["unknown", "Outcome unknown"],
          ]}
        />
        <ModeFilter filter={filters.mode} onFilter={(mode) => onFilter({ mode })} />
        {reads && <MembraneFilter filter={filters.membrane_id} onFilter={(membrane_id) => onFilter({ membrane_id })} />}
        <TimeFilter label="From" filter={filters.from} onFilter={(from) => onFilter({ from })} />
        <TimeFilter label="To" filter={filters.to} onFilter={(to) => onFilter({ to })} />
        {filtered && (
          <button type="button" className="button quiet" onClick={() => onFilter(noFilters)}>
            Clear
          </button>
        )}
      </form>
    </details>
  );
}
