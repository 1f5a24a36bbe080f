import { type Counter, foldName } from "@countersign/contract";
import { near_share } from "../../parts/quota.tsx";
import { Badge } from "../../parts/records/badge.tsx";
import { Meter } from "../../parts/records/decision-parts.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Time } from "../../parts/time.tsx";
import { AgentLink } from "../agents/agent-link.tsx";
import { windowText } from "./window-text.ts";

export function BudgetTable({ rows }: { readonly rows: readonly Counter[] }) {
  return (
    <ListTable
      heads={["Counter", "Key", "Limits", "Used", "Waits for people", "Last action"]}
      caption="Budgets and what is used of them"
    >
      {rows.map((row) => (
        <tr key={JSON.stringify([row.name, row.key])}>
          <td>
            <span className="mono">{row.name}</span>
            <div className="small muted">{windowText(row.window)}</div>
          </td>
          <td>
            <Key counter={row} />
          </td>
          <td>
            <Limits counter={row} />
          </td>
          <td>
            <Counted n={row.n} sum={row.sum} value={row.value} />
          </td>
          <td>{row.waiting_n === 0 ? "–" : <Counted n={row.waiting_n} sum={row.waiting_sum} value={row.value} />}</td>
          <td>{row.last_at === null ? "–" : <Time at={row.last_at} />}</td>
        </tr>
      ))}
    </ListTable>
  );
}

function Key({ counter: { key, agent_id } }: { readonly counter: Counter }) {
  return (
    <ul className="plain">
      {key.map((value, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a key never change places
        <li key={at}>
          {value === foldName(agent_id) ? (
            <AgentLink agent_id={agent_id} />
          ) : (
            <Data text={typeof value === "string" ? value : JSON.stringify(value)} chars_max={80} />
          )}
        </li>
      ))}
    </ul>
  );
}

const number = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 6 });
const actions = (count: number) => `${number(count)} ${count === 1 ? "action" : "actions"}`;

/** Without a value in the policy, the sum is the number of actions. */
function Counted({ n, sum, value }: Pick<Counter, "n" | "sum" | "value">) {
  if (value === null) return <span className="nowrap">{actions(n)}</span>;
  return (
    <>
      <span className="nowrap">{actions(n)}</span>
      {sum === null ? (
        <div className="small" title="An action without a usable amount counts.">
          sum unknown
        </div>
      ) : (
        <div className="nowrap">{`sum ${number(sum)}`}</div>
      )}
    </>
  );
}

function Limits({ counter }: { readonly counter: Counter }) {
  if (counter.limits.length === 0) return <span className="muted">no fixed limit</span>;
  return (
    <ul className="plain stack tight">
      {counter.limits.map((limit) => (
        <li key={`${limit.policy} ${limit.field} ${limit.limit}`}>
          <Limit counter={counter} limit={limit} />
        </li>
      ))}
    </ul>
  );
}

function Limit({
  counter,
  limit: { policy, policy_mode, field, limit },
}: {
  readonly counter: Counter;
  readonly limit: Counter["limits"][number];
}) {
  const [used, waits] = field === "n" ? [counter.n, counter.waiting_n] : [counter.sum, counter.waiting_sum];
  const unit = field === "n" ? " actions" : "";
  const text = `${used === null ? "unknown" : number(used)} of ${number(limit)}${unit}`;
  return (
    <div className="budget-limit">
      <span className="nowrap">{text}</span>
      {used !== null && limit > 0 && (
        <Meter
          share={used / limit}
          waits={(waits ?? 0) / limit}
          hot={used >= limit * near_share}
          label={`${text} used${waits ? `, ${number(waits)} of it waits for people` : ""}`}
        />
      )}
      <span className="row small muted">
        <Data text={policy} />
        {policy_mode === "shadow" && <Badge text="shadow" tone="shadow" />}
      </span>
    </div>
  );
}
