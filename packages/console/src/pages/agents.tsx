import { limits, type RegisteredAgent } from "@countersign/contract";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { FilterField } from "../parts/forms/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Badge } from "../parts/records/badge.tsx";
import { Empty } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { Time } from "../parts/time.tsx";
import { useFilters } from "../shell/filters.ts";
import { AgentDialog } from "./agents/agent-dialog.tsx";
import { AgentLink } from "./agents/agent-link.tsx";

export function AgentsPage() {
  const client = useClient();
  const may = useMay("admin");
  const [{ prefix }, setFilters] = useFilters(["prefix"]);
  const [adding, setAdding] = useState(false);
  const list = usePaged(["agents", "list", prefix ?? ""], async (cursor) => {
    const page = await client.listAgents({
      ...(prefix === undefined ? {} : { prefix }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    return { rows: page.agents, next_cursor: page.next_cursor };
  });
  return (
    <>
      <PageHead title="Agents" about="Every agent that acted or was registered.">
        {may && (
          <button type="button" className="button" onClick={() => setAdding(true)}>
            Register an agent
          </button>
        )}
      </PageHead>
      <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <FilterField
          label="Name begins with"
          maxLength={limits.agent_id_chars_max}
          filter={prefix}
          onFilter={(text) => setFilters({ prefix: text })}
        />
      </form>
      <section className="card" aria-label="Agents">
        <Paged list={list} what="agents" empty={<NoAgents filtered={prefix !== undefined} />}>
          {(rows) => <Rows rows={rows} />}
        </Paged>
      </section>
      {adding && <AgentDialog agent={null} onClose={() => setAdding(false)} />}
    </>
  );
}

function NoAgents({ filtered }: { readonly filtered: boolean }) {
  return (
    <Empty title={filtered ? "No agent matches" : "No agents yet"}>
      <p>{filtered ? "Remove the filter to see all agents." : "An agent appears here after its first action."}</p>
    </Empty>
  );
}

function Rows({ rows }: { readonly rows: readonly RegisteredAgent[] }) {
  return (
    <ListTable heads={["Agent", "State", "Owner", "Works for", "Last seen"]}>
      {rows.map((row) => (
        <tr key={row.agent_id}>
          <td>
            <AgentLink agent_id={row.agent_id} />
          </td>
          <td>
            <StatusBadge agent={row} />
          </td>
          <td>{row.owner === null ? "–" : <Data text={row.owner} chars_max={80} />}</td>
          <td>{row.parent_id === null ? "–" : <AgentLink agent_id={row.parent_id} />}</td>
          <td>{row.last_seen_at === null ? "never" : <Time at={row.last_seen_at} />}</td>
        </tr>
      ))}
    </ListTable>
  );
}

export function StatusBadge({ agent: { status } }: { readonly agent: Pick<RegisteredAgent, "status"> }) {
  return <Badge text={status} tone={status === "frozen" ? "block" : "approve"} />;
}
