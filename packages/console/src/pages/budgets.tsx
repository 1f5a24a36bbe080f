import { limits, type PipelineMode } from "@countersign/contract";
import { useClient } from "../api/session.tsx";
import { FilterField, SelectField } from "../parts/forms/field.tsx";
import { MembraneFilter } from "../parts/forms/filter-fields.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty } from "../parts/states.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { type Filters, useFilters } from "../shell/filters.ts";
import { BudgetTable } from "./budgets/budget-table.tsx";

const names = ["name", "agent_id", "membrane_id", "mode"] as const;

type BudgetFilters = Filters<(typeof names)[number]>;

export function BudgetsPage() {
  const client = useClient();
  const [filters, setFilters] = useFilters(names);
  const list = usePaged(["counters", "list", filters], async (cursor) => {
    const { mode, ...rest } = filters;
    const page = await client.listCounters({
      ...rest,
      ...(mode === undefined ? {} : { mode: mode as PipelineMode }),
      limit: 50,
      ...(cursor === undefined ? {} : { cursor }),
    });
    return { rows: page.counters, next_cursor: page.next_cursor };
  });
  return (
    <>
      <PageHead title="Budgets" about="What agents used of the limits over time, by counter and key.">
        <button type="button" className="button small" onClick={() => void list.refetch()} disabled={list.isFetching}>
          Refresh
        </button>
      </PageHead>
      <FilterForm filters={filters} onFilter={setFilters} />
      <section className="card" aria-label="Budgets">
        <Paged
          list={list}
          what="budgets"
          empty={<NoBudgets filtered={filters.name !== undefined || filters.agent_id !== undefined} />}
        >
          {(rows) => <BudgetTable rows={rows} membrane_id={filters.membrane_id} />}
        </Paged>
      </section>
    </>
  );
}

function FilterForm({
  filters,
  onFilter,
}: {
  readonly filters: BudgetFilters;
  readonly onFilter: (change: BudgetFilters) => void;
}) {
  return (
    <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <FilterField label="Counter" maxLength={64} filter={filters.name} onFilter={(name) => onFilter({ name })} />
      <FilterField
        label="Agent"
        maxLength={limits.agent_id_chars_max}
        filter={filters.agent_id}
        onFilter={(agent_id) => onFilter({ agent_id })}
      />
      <MembraneFilter
        none="Default"
        filter={filters.membrane_id}
        onFilter={(membrane_id) => onFilter({ membrane_id })}
      />
      <SelectField
        label="Mode"
        value={filters.mode ?? ""}
        onChange={(event) => onFilter({ mode: event.target.value })}
        options={[
          ["", "Live"],
          ["shadow", "Shadow"],
          ["test", "Test"],
        ]}
      />
      {Object.keys(filters).length > 0 && (
        <button
          type="button"
          className="button quiet"
          onClick={() => onFilter({ name: "", agent_id: "", membrane_id: "", mode: "" })}
        >
          Clear
        </button>
      )}
    </form>
  );
}

function NoBudgets({ filtered }: { readonly filtered: boolean }) {
  return filtered ? (
    <Empty title="No budget matches">
      <p>Remove a filter to see more.</p>
    </Empty>
  ) : (
    <Empty
      title="Nothing counts yet"
      action={
        <a href="/docs/how-to/limits" className="button">
          Limit sums, counts and sequences
        </a>
      }
    >
      <p>A policy with a counter limits a sum or a number over time. Its budgets appear after the first action.</p>
    </Empty>
  );
}
