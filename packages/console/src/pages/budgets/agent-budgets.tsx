import { Link } from "@tanstack/react-router";
import { useClient } from "../../api/session.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { BudgetTable } from "./budget-table.tsx";

/** The live budgets of this agent in the default membrane. */
export function AgentBudgets({ agent_id }: { readonly agent_id: string }) {
  const client = useClient();
  const list = usePaged(["counters", "agent", agent_id], async (cursor) => {
    const page = await client.listCounters({ agent_id, limit: 20, ...(cursor === undefined ? {} : { cursor }) });
    return { rows: page.counters, next_cursor: page.next_cursor };
  });
  return (
    <section className="card stack tight" aria-label="Budgets">
      <div className="row between">
        <h2>Budgets</h2>
        <Link className="small" to="/budgets" search={{ agent_id } as never}>
          Other modes and membranes
        </Link>
      </div>
      <Paged
        list={list}
        what="budgets"
        empty={<p className="muted">No policy of the default membrane counts its live actions.</p>}
      >
        {(rows) => <BudgetTable rows={rows} />}
      </Paged>
    </section>
  );
}
