import type { IntentListItem } from "@countersign/contract";
import { Link, useLocation } from "@tanstack/react-router";
import { useClient } from "../api/session.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ActionName } from "../parts/records/action-name.tsx";
import { ModeBadge, VerdictBadge } from "../parts/records/badge.tsx";
import { shownIntent } from "../parts/records/shown.ts";
import { Empty } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { ExactTime } from "../parts/time.tsx";
import { AgentLink } from "./agents/agent-link.tsx";

const day_ms = 86_400_000;

export function RunPage() {
  const { session_id = "", at = "" } = useLocation().search as { readonly session_id?: string; readonly at?: string };
  const at_ms = Date.parse(at);
  return (
    <>
      <PageHead title="Run" about={<Data text={session_id} />} />
      <section className="card" aria-label="Run">
        {Number.isNaN(at_ms) ? (
          <Empty title="This address names no time">
            <p>Open the run from one of its decisions.</p>
          </Empty>
        ) : (
          <Actions session_id={session_id} at_ms={at_ms} />
        )}
      </section>
    </>
  );
}

function Actions({ session_id, at_ms }: { readonly session_id: string; readonly at_ms: number }) {
  const client = useClient();
  const [from, to] = [-3, 3].map((days) => new Date(at_ms + days * day_ms).toISOString()) as [string, string];
  const list = usePaged(["intents", "run", session_id, from], async (cursor) => {
    const query = { session_id, from, to, limit: 200 };
    const page = await client.listIntents(cursor === undefined ? query : { ...query, cursor });
    return { rows: page.intents.map(shownIntent), next_cursor: page.next_cursor };
  });
  return (
    <Paged
      list={list}
      what="actions"
      empty={
        <Empty title="No actions">
          <p>The actions of a run are shown for three days before and after one of them.</p>
        </Empty>
      }
    >
      {(rows) => <Rows rows={rows.toReversed()} />}
    </Paged>
  );
}

function outcomeText({ status, outcome, execution }: IntentListItem): string {
  if (status === "pending") return "waits for review";
  const done = execution === undefined ? "" : `, ${execution.status.replace("_", " ")}`;
  return `${outcome === "block" ? "blocked" : "approved"}${done}`;
}

function Rows({ rows }: { readonly rows: readonly IntentListItem[] }) {
  return (
    <ListTable heads={["When", "Agent", "Action", "Verdict", "Outcome"]}>
      {rows.map((row) => (
        <tr key={row.intent_id}>
          <td>
            <Link to="/decisions/$intent_id" params={{ intent_id: row.intent_id }}>
              <ExactTime at={row.submitted_at} />
            </Link>
          </td>
          <td>
            <AgentLink agent_id={row.agent.id} />
          </td>
          <td>
            <ActionName type={row.decided_as.type} verb={row.action.verb} />
          </td>
          <td>
            <VerdictBadge verdict={row.verdict} /> <ModeBadge mode={row.pipeline_mode} />
          </td>
          <td>{outcomeText(row)}</td>
        </tr>
      ))}
    </ListTable>
  );
}
