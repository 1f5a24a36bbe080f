import { Link } from "@tanstack/react-router";
import { useSubmits } from "../api/session.tsx";
import { ExportButton } from "../exports/export-button.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty } from "../parts/states.tsx";
import { SearchedTo, useGoOn } from "../parts/tables/go-on.tsx";
import { Paged } from "../parts/tables/paged.tsx";
import { useFilters } from "../shell/filters.ts";
import { filterNames, queryOf, useDecisions } from "./decisions/decision-query.ts";
import { FilterForm } from "./decisions/filter-form.tsx";
import { FindDecisions } from "./decisions/find-box.tsx";
import { DecisionRows } from "./decisions/rows.tsx";
import { Views } from "./decisions/views.tsx";

export function DecisionsPage() {
  const [filters, setFilters] = useFilters(filterNames);
  const query = queryOf(filters);
  const list = useDecisions(query);
  useGoOn(list);
  const filtered = Object.keys(query).length > 0;
  const { searched_to } = list;
  return (
    <>
      <PageHead title="Decisions" about="Every action that agents asked about, newest first.">
        <ExportButton
          what="decisions"
          filters={query}
          run={(client, query, following) => client.exportDecisions(query, following)}
        />
        <button type="button" className="button small" onClick={() => void list.refetch()} disabled={list.isFetching}>
          Refresh
        </button>
      </PageHead>
      <Views />
      <FindDecisions filters={filters} rows={list.rows} onFilter={setFilters} />
      <FilterForm filters={filters} onFilter={setFilters} filtered={filtered} />
      <section className="card" aria-label="Decisions">
        <Paged
          list={list}
          what="decisions"
          empty={<NoDecisions filtered={filtered} searched={searched_to !== undefined} />}
          note={<SearchedTo list={list} />}
        >
          {(rows) => <DecisionRows rows={rows} />}
        </Paged>
      </section>
    </>
  );
}

function NoDecisions({ filtered, searched }: { readonly filtered: boolean; readonly searched: boolean }) {
  const submits = useSubmits();
  return (
    <Empty
      title={searched ? "No decision matches so far" : filtered ? "No decision matches" : "No decisions yet"}
      action={
        !filtered &&
        submits && (
          <Link to="/settings" className="button primary">
            Send a test intent
          </Link>
        )
      }
    >
      <p>
        {searched
          ? "Older decisions may match. Search further, or choose a time."
          : filtered
            ? "Remove a filter to see more."
            : "After an agent submits an action, its decision appears here."}
      </p>
    </Empty>
  );
}
