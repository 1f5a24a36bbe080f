import { type IntentListItem, limits, type PipelineMode, type Verdict } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useClient, useReads, useSubmits } from "../api/session.tsx";
import { FilterField, SelectField } from "../parts/forms/field.tsx";
import { asTime, MembraneFilter, ModeFilter, TimeFilter } from "../parts/forms/filter-fields.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ActionName } from "../parts/records/action-name.tsx";
import { ModeBadge, VerdictBadge } from "../parts/records/badge.tsx";
import { shownIntent } from "../parts/records/shown.ts";
import { Empty } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { ExactTime, Time } from "../parts/time.tsx";
import { type Filters, useFilters } from "../shell/filters.ts";

const names = ["agent_id", "verdict", "mode", "membrane_id", "from", "to", "execution"] as const;

type DecisionFilters = Filters<(typeof names)[number]>;

export function DecisionsPage() {
  const [filters, setFilters] = useFilters(names);
  const query = queryOf(filters);
  const list = useDecisions(query);
  const filtered = Object.keys(query).length > 0;
  return (
    <>
      <PageHead title="Decisions" about="Every action that agents asked about, newest first.">
        <button type="button" className="button small" onClick={() => void list.refetch()} disabled={list.isFetching}>
          Refresh
        </button>
      </PageHead>
      <FilterForm filters={filters} onFilter={setFilters} filtered={filtered} />
      <section className="card" aria-label="Decisions">
        <Paged list={list} what="decisions" empty={<NoDecisions filtered={filtered} />}>
          {(rows) => <Rows rows={rows} />}
        </Paged>
      </section>
    </>
  );
}

/** Ignores invalid times. */
function queryOf(filters: DecisionFilters) {
  const from = asTime(filters.from);
  const to = asTime(filters.to);
  return {
    ...(filters.agent_id ? { agent_id: filters.agent_id } : {}),
    ...(filters.verdict ? { verdict: filters.verdict as Verdict } : {}),
    ...(filters.mode ? { mode: filters.mode as PipelineMode } : {}),
    ...(filters.membrane_id ? { membrane_id: filters.membrane_id } : {}),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(filters.execution === "unknown" ? { execution: "unknown" as const } : {}),
  };
}

function useDecisions(query: ReturnType<typeof queryOf>) {
  const client = useClient();
  return usePaged(["intents", "list", query], async (cursor) => {
    const page = await client.listIntents({ ...query, limit: 50, ...(cursor === undefined ? {} : { cursor }) });
    return { rows: page.intents.map(shownIntent), next_cursor: page.next_cursor };
  });
}

function FilterForm({
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
  return (
    <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <FilterField
        label="Agent"
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
        label="Carried out"
        value={filters.execution ?? ""}
        onChange={(event) => onFilter({ execution: event.target.value })}
        options={[
          ["", "All"],
          ["unknown", "Outcome unknown"],
        ]}
      />
      <ModeFilter filter={filters.mode} onFilter={(mode) => onFilter({ mode })} />
      {reads && <MembraneFilter filter={filters.membrane_id} onFilter={(membrane_id) => onFilter({ membrane_id })} />}
      <TimeFilter label="From" filter={filters.from} onFilter={(from) => onFilter({ from })} />
      <TimeFilter label="To" filter={filters.to} onFilter={(to) => onFilter({ to })} />
      {filtered && (
        <button
          type="button"
          className="button quiet"
          onClick={() =>
            onFilter({ agent_id: "", verdict: "", mode: "", membrane_id: "", from: "", to: "", execution: "" })
          }
        >
          Clear
        </button>
      )}
    </form>
  );
}

function NoDecisions({ filtered }: { readonly filtered: boolean }) {
  const submits = useSubmits();
  return (
    <Empty title={filtered ? "No decision matches" : "No decisions yet"}>
      <p>
        {filtered ? "Remove a filter to see more." : "After an agent submits an action, its decision appears here."}
      </p>
      {!filtered && submits && <Link to="/settings">Send a test intent</Link>}
    </Empty>
  );
}

function Rows({ rows }: { readonly rows: readonly IntentListItem[] }) {
  return (
    <ListTable heads={["When", "Verdict", "Agent", "Action", "Target", "Risk"]} numbers={1}>
      {rows.map((row) => (
        <tr key={row.intent_id}>
          <td>
            <Link to="/decisions/$intent_id" params={{ intent_id: row.intent_id }}>
              <Time at={row.submitted_at} />
            </Link>
            <div className="small muted on-wide">
              <ExactTime at={row.submitted_at} />
            </div>
          </td>
          <td>
            <span className="row unbroken">
              <VerdictBadge verdict={row.verdict} />
              <ModeBadge mode={row.pipeline_mode} />
              {row.status === "pending" && <span className="small muted">waits</span>}
              {row.verdict === "escalate" && row.outcome !== null && row.pipeline_mode !== "shadow" && (
                <span className="small muted">{`then ${row.outcome === "block" ? "blocked" : "approved"}`}</span>
              )}
            </span>
          </td>
          <td>
            <Data text={row.agent.id} chars_max={80} />
          </td>
          <td>
            <ActionName type={row.decided_as.type} verb={row.action.verb} />
          </td>
          <td>
            <Data text={row.action.target?.identifier ?? "–"} chars_max={80} />
          </td>
          <td className="num">{row.risk_score.toFixed(2)}</td>
        </tr>
      ))}
    </ListTable>
  );
}
