import { type AuditType, auditTypes, type OrgAuditRecord } from "@countersign/contract";
import { useClient } from "../../api/session.tsx";
import { ExportButton } from "../../exports/export-button.tsx";
import { SelectField } from "../../parts/forms/field.tsx";
import { asTime, TimeFilter } from "../../parts/forms/filter-fields.tsx";
import { type Findable, FindBox, type Known, useTyped } from "../../parts/forms/find-box.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Subject } from "../../parts/records/audit-subject.tsx";
import { auditNote, auditWord } from "../../parts/records/audit-words.ts";
import { JsonView } from "../../parts/records/json-view.tsx";
import { useEverybody, useKeyNames, Who } from "../../parts/records/who.tsx";
import { useRuleNames } from "../../parts/rule-names.ts";
import { Empty } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { SearchedTo, useGoOn } from "../../parts/tables/go-on.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { ExactTime } from "../../parts/time.tsx";
import { type Filters, useFilters } from "../../shell/filters.ts";
import { useAgentIds } from "../agents/agent-filter.tsx";
import { ReceiptButton } from "../decisions/receipt-button.tsx";

const typedNames = ["by", "agent_id", "action", "policy", "text", "actor"] as const;
type TypedName = (typeof typedNames)[number];
const filterNames = [...typedNames, "type", "from", "to"] as const;
type AuditFilters = Filters<(typeof filterNames)[number]>;
const noFilters: AuditFilters = Object.fromEntries(filterNames.map((name) => [name, ""]));

const found: Findable<TypedName> = {
  label: "Find audit rows",
  placeholder: "Find by who acted, agent, action, policy, or words of the row",
  words: { by: "by", agent_id: "agent", action: "action", policy: "policy", text: "text", actor: "id" },
  chips: typedNames,
  exact: "agent_id",
  free: "text",
};

/** Ignores invalid times. */
function queryOf({ type, from, to, ...texts }: AuditFilters) {
  const [since, until] = [asTime(from), asTime(to)];
  return {
    ...texts,
    ...(type === undefined ? {} : { type: type as AuditType }),
    ...(since === undefined ? {} : { from: since }),
    ...(until === undefined ? {} : { to: until }),
  };
}

function useRows(asked: ReturnType<typeof queryOf>) {
  const client = useClient();
  // A search joins its pages, because some of them are empty.
  const joins = typedNames.some((name) => name !== "actor" && asked[name] !== undefined);
  return usePaged(
    ["audit", "trail", asked],
    async (cursor) => {
      const { audit, ...page } = await client.listAudit({
        ...asked,
        limit: 50,
        ...(cursor === undefined ? {} : { cursor }),
      });
      return { rows: audit, ...page };
    },
    { joins },
  );
}

export function AuditPage() {
  const [filters, setFilters] = useFilters(filterNames);
  const asked = queryOf(filters);
  const list = useRows(asked);
  useGoOn(list);
  const input = useTyped(found);
  const known = useKnown(input.text, list.rows, input.open);
  return (
    <>
      <PageHead
        title="Audit"
        about="Every change, newest first. Rows are numbered without gaps and chained by hash. Nothing can change or remove one."
      >
        <ExportButton
          what="audit trail"
          filters={asked}
          evidence
          run={(client, query, following) => client.exportAudit(query, following)}
        />
      </PageHead>
      <FindBox found={found} input={input} known={known} filters={filters} onFilter={setFilters} />
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
        <TimeFilter label="From" filter={filters.from} onFilter={(from) => setFilters({ from })} />
        <TimeFilter label="To" filter={filters.to} onFilter={(to) => setFilters({ to })} />
        {Object.keys(asked).length > 0 && (
          <button type="button" className="button quiet" onClick={() => setFilters(noFilters)}>
            Clear
          </button>
        )}
      </form>
      <section className="card" aria-label="Audit trail">
        <Paged
          list={list}
          what="rows"
          empty={<NoRows searched={list.searched_to !== undefined} />}
          note={<SearchedTo list={list} />}
        >
          {(rows) => <Rows rows={rows} />}
        </Paged>
      </section>
    </>
  );
}

function useKnown(text: string, rows: readonly OrgAuditRecord[], open: boolean): Known<TypedName> {
  const everybody = useEverybody(open);
  const keys = useKeyNames(open);
  const agent_id = useAgentIds(text, open);
  const policy = useRuleNames(open);
  const people = [...(everybody.data?.values() ?? [])].flatMap(({ name, email }) => [name, email]);
  const by = [...people, ...(keys.data?.values() ?? [])].filter((each) => each !== null);
  const abouts = rows.flatMap(({ about }) => (about === undefined ? [] : [about]));
  const action = [...new Set(abouts.flatMap(({ verb, type }) => [verb, type]))];
  return { by: [...new Set(by)], agent_id, action, policy, text: [], actor: [] };
}

function NoRows({ searched }: { readonly searched: boolean }) {
  return (
    <Empty title={searched ? "No row matches so far" : "No such rows"}>
      <p>{searched ? "Older rows may match. Search further, or choose a time." : "Remove a filter to see more."}</p>
    </Empty>
  );
}

function Rows({ rows }: { readonly rows: readonly OrgAuditRecord[] }) {
  return (
    <ListTable heads={["Row", "When", "Who", "What", "About", "Details"]}>
      {rows.map((row) => (
        <tr key={row.audit_id}>
          <td>{row.seq}</td>
          <td>
            <ExactTime at={row.at} />
          </td>
          <td>{row.actor.id === null ? "The service" : <Who id={row.actor.id} />}</td>
          <td>
            {auditWord(row.type)}
            <Note row={row} />
          </td>
          <td className="about small">
            <Subject row={row} />
          </td>
          <td>
            <details className="small">
              <summary>
                Data<span className="sr">{` of row ${row.seq}`}</span>
              </summary>
              <JsonView value={row.data} label={`Data of audit row ${row.seq}`} />
              <p className="mono muted">{row.hash}</p>
              {row.intent_id !== null && <ReceiptButton intent_id={row.intent_id} />}
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
    <span className="small muted">
      {" "}
      <Data text={note} chars_max={200} more={false} />
    </span>
  );
}
