import type { IntentListItem } from "@countersign/contract";
import { Link, useLocation } from "@tanstack/react-router";
import { useClient } from "../api/session.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Badge, ModeBadge, VerdictBadge } from "../parts/records/badge.tsx";
import { shownIntent } from "../parts/records/shown.ts";
import { Empty } from "../parts/states.tsx";
import { Data, Given } from "../parts/tables/data.tsx";
import { useGoOn } from "../parts/tables/go-on.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { ExactTime, spanText } from "../parts/time.tsx";
import { AgentLink } from "./agents/agent-link.tsx";
import { ActionOf, executionWords } from "./decisions/rows.tsx";
import { stepsOf } from "./run/timeline.ts";

const day_ms = 86_400_000;

export function RunPage() {
  const { session_id = "", at = "" } = useLocation().search as { readonly session_id?: string; readonly at?: string };
  const at_ms = Date.parse(at);
  return (
    <>
      <PageHead
        title="Run"
        about={
          <>
            {"What agents asked in the session "}
            <Given text={session_id} chars_max={120} more={false} />
            {", in order, and what followed."}
          </>
        }
      >
        <Link to="/decisions" search={{ session_id } as never} className="button small">
          All decisions of this run
        </Link>
      </PageHead>
      <section className="card stack tight" aria-label="Run">
        {Number.isNaN(at_ms) ? (
          <Empty
            title="This address names no time"
            action={
              <Link to="/decisions" className="button">
                Decisions
              </Link>
            }
          >
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
  const list = usePaged(
    ["intents", "run", session_id, from],
    async (cursor) => {
      const query = { session_id, from, to, limit: 200 };
      const page = await client.listIntents(cursor === undefined ? query : { ...query, cursor });
      return { rows: page.intents.map(shownIntent), next_cursor: page.next_cursor, searched_to: page.searched_to };
    },
    { joins: true },
  );
  useGoOn(list);
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
      {(rows) => (
        <>
          <Sums rows={rows} />
          <Timeline rows={rows} />
        </>
      )}
    </Paged>
  );
}

function Sums({ rows }: { readonly rows: readonly IntentListItem[] }) {
  const [newest, oldest] = [rows[0], rows.at(-1)];
  if (newest === undefined || oldest === undefined) return null;
  const seconds = (Date.parse(newest.submitted_at) - Date.parse(oldest.submitted_at)) / 1_000;
  const stopped = rows.filter(({ verdict }) => verdict === "block" || verdict === "escalate").length;
  const agents = [...new Set(rows.map(({ agent }) => agent.id))];
  return (
    <p className="row muted">
      {`${rows.length.toLocaleString("en")} actions in ${spanText(seconds)}, ${stopped.toLocaleString("en")} held or blocked, by`}
      {agents.map((agent_id) => (
        <AgentLink key={agent_id} agent_id={agent_id} />
      ))}
    </p>
  );
}

function Timeline({ rows }: { readonly rows: readonly IntentListItem[] }) {
  return (
    <ol className="timeline">
      {stepsOf(rows).map((step) =>
        step.kind === "gap" ? (
          <li key={`gap ${step.at}`} className="gap muted small">
            {`${spanText(step.seconds)} later`}
          </li>
        ) : (
          <li key={`${step.kind} ${step.row.intent_id}`} className={step.kind === "followed" ? "small" : undefined}>
            {step.kind === "decided" ? <Decided row={step.row} /> : <Followed row={step.row} at={step.at} />}
          </li>
        ),
      )}
    </ol>
  );
}

function Decided({ row }: { readonly row: IntentListItem }) {
  return (
    <div className="stack tight">
      <span className="row">
        <VerdictBadge verdict={row.verdict} />
        <ModeBadge mode={row.pipeline_mode} />
        <Link to="/decisions/$intent_id" params={{ intent_id: row.intent_id }}>
          <ActionOf row={row} />
        </Link>
        {row.status === "pending" && <span className="small muted">waits for review</span>}
        <span className="small muted">
          <ExactTime at={row.submitted_at} />
        </span>
      </span>
      {row.reason !== null && (
        <span className="small">
          <Data text={row.reason.message} chars_max={300} />
        </span>
      )}
    </div>
  );
}

function Followed({ row, at }: { readonly row: IntentListItem; readonly at: string }) {
  const status = row.execution?.status ?? "none";
  return (
    <span className="row">
      {row.afterwards.includes("contradicted") ? (
        <Badge text="executed anyway" tone="block" />
      ) : (
        status !== "none" && <span>{executionWords[status]}</span>
      )}
      <ActionOf row={row} />
      <span className="muted">
        <ExactTime at={at} />
      </span>
    </span>
  );
}
