import { type ListedAgent, limits, type RegisteredAgent } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { nowMs } from "../browser/clock.ts";
import { SparkLine } from "../parts/charts.tsx";
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
import { actionsText, numberText } from "./budgets/budget-text.ts";

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

function Rows({ rows }: { readonly rows: readonly ListedAgent[] }) {
  return (
    <ListTable
      heads={[
        ...["Agent", "State", "Owner", "Last seen", "Last 7 days", "Decisions", "Held or blocked", "Waiting now"],
        ...["Budget left", "Uncovered tools"],
      ]}
      numbers={5}
    >
      {rows.map((row) => (
        <tr key={row.agent_id}>
          <td>
            <AgentLink agent_id={row.agent_id} />
          </td>
          <td>
            <StatusBadge agent={row} />
          </td>
          <td>{row.owner === null ? "–" : <Data text={row.owner} chars_max={80} />}</td>
          <td>{row.last_seen_at === null ? "never" : <Time at={row.last_seen_at} />}</td>
          <Work agent={row} />
          <td className="num">
            <BudgetLeft agent={row} />
          </td>
          <td className="num">
            {row.uncovered_tools === 0 ? (
              "–"
            ) : (
              <Link to="/agent" search={{ id: row.agent_id } as never}>
                {row.uncovered_tools.toLocaleString("en")}
              </Link>
            )}
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

const day_ms = 86_400_000;

/** The days are in UTC, and today is the last of them. */
function firstDay(days: number): string {
  return new Date((Math.floor(nowMs() / day_ms) - days + 1) * day_ms).toISOString();
}

function Work({ agent: { agent_id, days, open_reviews } }: { readonly agent: ListedAgent }) {
  const decisions = days.reduce((sum, day) => sum + day.decisions, 0);
  const held = days.reduce((sum, day) => sum + day.held, 0);
  const share =
    decisions === 0 ? "–" : `${((held / decisions) * 100).toLocaleString("en", { maximumFractionDigits: 1 })} %`;
  return (
    <>
      <td>
        <SparkLine values={days.map((day) => day.decisions)} />
      </td>
      <td className="num">
        <Link to="/decisions" search={{ agent_id, from: firstDay(days.length) } as never}>
          {decisions.toLocaleString("en")}
        </Link>
      </td>
      <td className="num" title={`${held.toLocaleString("en")} escalated or blocked`}>
        {share}
      </td>
      <td className="num">
        {open_reviews === 0 ? (
          "–"
        ) : (
          <Link to="/review" search={{ agent_id } as never}>
            {open_reviews.toLocaleString("en")}
          </Link>
        )}
      </td>
    </>
  );
}

/** The live budget of which the smallest share is left. */
function BudgetLeft({ agent: { agent_id, budget } }: { readonly agent: ListedAgent }) {
  if (budget === null) return "–";
  const { counter, field, limit, left } = budget;
  return (
    <Link to="/budgets" search={{ agent_id } as never} title={`count.${counter}`}>
      {`${numberText(left)} of ${field === "n" ? actionsText(limit) : numberText(limit)}`}
    </Link>
  );
}

export function StatusBadge({ agent: { status } }: { readonly agent: Pick<RegisteredAgent, "status"> }) {
  return <Badge text={status} tone={status === "frozen" ? "block" : "approve"} />;
}
