import type { AgentDetails, Verdict } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { FreezeButton } from "../freezes/freeze-button.tsx";
import { FigureLink, shareText } from "../parts/figure.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Badge } from "../parts/records/badge.tsx";
import { Who } from "../parts/records/who.tsx";
import { Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Time } from "../parts/time.tsx";
import { AgentDialog } from "./agents/agent-dialog.tsx";
import { AgentLink } from "./agents/agent-link.tsx";
import { StatusBadge } from "./agents.tsx";
import { AgentBudgets } from "./budgets/agent-budgets.tsx";

export function AgentPage() {
  const { id = "" } = useLocation().search as { readonly id?: string };
  const client = useClient();
  const query = useQuery({ queryKey: ["agents", "one", id], queryFn: () => client.getAgent(id) });
  const [changing, setChanging] = useState(false);
  const may = useMay("admin");
  return (
    <>
      <PageHead title={id} about="One agent, with the last 31 days of its work.">
        {may && query.data !== undefined && (
          <button type="button" className="button small" onClick={() => setChanging(true)}>
            Change the details
          </button>
        )}
        <FreezeButton target={{ kind: "agent", id }} />
      </PageHead>
      <Loaded query={query} what="the agent">
        {(agent) => (
          <>
            <Entry agent={agent} />
            <Activity agent={agent} />
            <AgentBudgets agent_id={agent.agent_id} />
            <div className="grid-2">
              <Tools agent={agent} />
              <Keys agent={agent} />
            </div>
            {changing && <AgentDialog agent={agent} onClose={() => setChanging(false)} />}
          </>
        )}
      </Loaded>
    </>
  );
}

function Entry({ agent }: { readonly agent: AgentDetails }) {
  return (
    <section className="card stack tight" aria-label="Entry">
      <div className="row">
        <StatusBadge agent={agent} />
      </div>
      {agent.freezes.map(({ kind, name, mode, reason, frozen_by, frozen_at }) => (
        <p key={`${kind} ${name}`}>
          {kind === "organization" ? (
            "The organization"
          ) : (
            <>
              {"The agent "}
              <Data text={name} />
            </>
          )}
          {mode === "block" ? " is frozen: nothing passes. By " : " is frozen: every action waits for an admin. By "}
          <Who id={frozen_by} /> <Time at={frozen_at} />
          {": "}
          <Data text={reason} chars_max={300} />
        </p>
      ))}
      <dl className="pairs">
        <dt>Owner</dt>
        <dd>{agent.owner === null ? "not given" : <Data text={agent.owner} />}</dd>
        <dt>Purpose</dt>
        <dd>{agent.purpose === null ? "not given" : <Data text={agent.purpose} lines />}</dd>
        <dt>Works for</dt>
        <dd>
          <AgentIds ids={agent.ancestors} none="no other agent" />
        </dd>
        <dt>Sub-agents</dt>
        <dd>
          <AgentIds ids={agent.children} none="none" />
        </dd>
        <dt>First seen</dt>
        <dd>{agent.first_seen_at === null ? "never" : <Time at={agent.first_seen_at} />}</dd>
        <dt>Last seen</dt>
        <dd>{agent.last_seen_at === null ? "never" : <Time at={agent.last_seen_at} />}</dd>
        {agent.registered_by !== null && (
          <>
            <dt>Registered by</dt>
            <dd>
              <Who id={agent.registered_by} />
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

function AgentIds({ ids, none }: { readonly ids: readonly string[]; readonly none: string }) {
  if (ids.length === 0) return <>{none}</>;
  return (
    <span className="row">
      {ids.map((id) => (
        <AgentLink key={id} agent_id={id} />
      ))}
    </span>
  );
}

const number = (value: number) => value.toLocaleString("en-US");

function Activity({ agent: { agent_id, activity, open_reviews } }: { readonly agent: AgentDetails }) {
  const { decisions, complete, verdicts, risk, from } = activity;
  const at_least = complete ? "" : "at least ";
  const rows = (verdict?: Verdict) => ({ agent_id, from, ...(verdict === undefined ? {} : { verdict }) }) as never;
  const figure = (name: string, verdict: Verdict) => (
    <FigureLink
      to="/decisions"
      search={rows(verdict)}
      name={name}
      value={`${at_least}${number(verdicts[verdict])}`}
      about={decisions === 0 ? "no decisions" : shareText(verdicts[verdict] / decisions)}
    />
  );
  return (
    <section aria-label="Activity" className="figures">
      <FigureLink
        to="/decisions"
        search={rows()}
        name="Decisions"
        value={`${at_least}${number(decisions)}`}
        about={
          risk === null
            ? "none in this time"
            : `risk ${risk.average.toFixed(2)} on average, at most ${risk.highest.toFixed(2)}`
        }
      />
      {figure("Approved", "approve")}
      {verdicts.approve_modified > 0 && figure("With changes", "approve_modified")}
      {figure("Held for people", "escalate")}
      {figure("Blocked", "block")}
      <FigureLink
        to="/review"
        search={{ agent_id } as never}
        name="Waiting now"
        value={number(open_reviews.count)}
        about={`of at most ${number(open_reviews.limit)}`}
      />
    </section>
  );
}

function Tools({ agent: { activity } }: { readonly agent: AgentDetails }) {
  return (
    <section className="card stack tight" aria-label="Tools">
      <h2>Tools</h2>
      {activity.tools.length === 0 ? (
        <p className="muted">It used no tool in this time.</p>
      ) : (
        <ListTable heads={["Tool", "Rules", "Uses"]} numbers={1} caption="Tools and their uses">
          {activity.tools.map(({ verb, count, named }) => (
            <tr key={verb}>
              <td className="mono">
                <Data text={verb} chars_max={80} />
              </td>
              <td>{named ? "covered" : <Badge text="no rule covers it" tone="escalate" />}</td>
              <td className="num">{number(count)}</td>
            </tr>
          ))}
        </ListTable>
      )}
    </section>
  );
}

function Keys({ agent: { keys } }: { readonly agent: AgentDetails }) {
  return (
    <section className="card stack tight" aria-label="Keys">
      <h2>Keys</h2>
      {keys.length === 0 ? (
        <p className="muted">No key is bound to this agent. Keys that are bound to no agent can act for it.</p>
      ) : (
        <ListTable heads={["Key", "Role"]} caption="Keys and their roles">
          {keys.map(({ key_id, name, role }) => (
            <tr key={key_id}>
              <td>{name === null ? <span className="mono">{key_id}</span> : <Data text={name} chars_max={80} />}</td>
              <td>{role}</td>
            </tr>
          ))}
        </ListTable>
      )}
    </section>
  );
}
