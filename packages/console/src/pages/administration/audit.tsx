import { type AuditType, auditTypes, type OrgAuditRecord } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useClient } from "../../api/session.tsx";
import { FilterField, SelectField } from "../../parts/forms/field.tsx";
import { asTime, TimeFilter } from "../../parts/forms/filter-fields.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { auditNote, auditWord } from "../../parts/records/audit-words.ts";
import { JsonView } from "../../parts/records/json-view.tsx";
import { Who } from "../../parts/records/who.tsx";
import { Empty } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { ExactTime } from "../../parts/time.tsx";
import { useFilters } from "../../shell/filters.ts";

const actor_chars_max = 128;

export function AuditPage() {
  const client = useClient();
  const [filters, setFilters] = useFilters(["type", "actor", "from", "to"]);
  const from = asTime(filters.from);
  const to = asTime(filters.to);
  const asked = {
    ...(filters.type ? { type: filters.type as AuditType } : {}),
    ...(filters.actor ? { actor: filters.actor } : {}),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const list = usePaged(["audit", "trail", asked], async (cursor) => {
    const page = await client.listAudit({ ...asked, limit: 50, ...(cursor === undefined ? {} : { cursor }) });
    return { rows: page.audit, next_cursor: page.next_cursor };
  });
  return (
    <>
      <PageHead
        title="Audit"
        about="Every change, newest first. Rows are numbered without gaps and chained by hash. Nothing can change or remove one."
      />
      <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <SelectField
          label="What"
          value={filters.type ?? ""}
          onChange={(event) => setFilters({ type: event.target.value })}
          options={[
            ["", "Everything"],
            ...Object.keys(auditTypes).map((type) => [type, auditWord(type as AuditType)] as const),
          ]}
        />
        <FilterField
          label="By (key or user id)"
          maxLength={actor_chars_max}
          filter={filters.actor}
          onFilter={(actor) => setFilters({ actor })}
        />
        <TimeFilter label="From" filter={filters.from} onFilter={(from) => setFilters({ from })} />
        <TimeFilter label="To" filter={filters.to} onFilter={(to) => setFilters({ to })} />
        {Object.keys(asked).length > 0 && (
          <button
            type="button"
            className="button quiet"
            onClick={() => setFilters({ type: "", actor: "", from: "", to: "" })}
          >
            Clear
          </button>
        )}
      </form>
      <section className="card" aria-label="Audit trail">
        <Paged
          list={list}
          what="rows"
          empty={
            <Empty title="No such rows">
              <p>Remove a filter to see more.</p>
            </Empty>
          }
        >
          {(rows) => <Rows rows={rows} />}
        </Paged>
      </section>
    </>
  );
}

function Rows({ rows }: { readonly rows: readonly OrgAuditRecord[] }) {
  return (
    <ListTable heads={["Row", "When", "What", "By", "Details"]}>
      {rows.map((row) => (
        <tr key={row.audit_id}>
          <td>{row.seq}</td>
          <td>
            <ExactTime at={row.at} />
          </td>
          <td>
            {auditWord(row.type)}
            <Note row={row} />
          </td>
          <td>{row.actor.id === null ? "the service" : <Who id={row.actor.id} />}</td>
          <td>
            {row.intent_id !== null && (
              <Link className="small" to="/decisions/$intent_id" params={{ intent_id: row.intent_id }}>
                decision
              </Link>
            )}
            <details className="small">
              <summary>{`Data of row ${row.seq}`}</summary>
              <JsonView value={row.data} label={`Data of audit row ${row.seq}`} />
              <p className="mono muted">{row.hash}</p>
              {row.root !== null && (
                <p className="muted">
                  {"The chain up to here: "}
                  <span className="mono">{`${row.seq}:${row.root}`}</span>
                </p>
              )}
            </details>
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

function Note({ row }: { readonly row: OrgAuditRecord }) {
  const note = auditNote(row);
  if (note === null) return null;
  return (
    <div className="small muted">
      <Data text={note} chars_max={200} more={false} />
    </div>
  );
}
