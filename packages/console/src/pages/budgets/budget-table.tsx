import { type Counter, foldName } from "@countersign/contract";
import { useState } from "react";
import { useMay, useSession } from "../../api/session.tsx";
import { near_share } from "../../parts/quota.tsx";
import { Badge } from "../../parts/records/badge.tsx";
import { Meter } from "../../parts/records/decision-parts.tsx";
import { Who } from "../../parts/records/who.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Time } from "../../parts/time.tsx";
import { AgentLink } from "../agents/agent-link.tsx";
import { AdjustDialog, type Adjusting } from "./adjust-dialog.tsx";
import { actionsText, grantText, numberText } from "./budget-text.ts";
import { windowText } from "./window-text.ts";

/** `membrane_id` undefined: the default one. */
export function BudgetTable({
  rows,
  membrane_id,
}: {
  readonly rows: readonly Counter[];
  readonly membrane_id?: string | undefined;
}) {
  const may = useMay("operator");
  const [adjusting, setAdjusting] = useState<Adjusting | null>(null);
  return (
    <>
      <ListTable
        heads={["Counter", "Key", "Limits", "Used", "Waits for people", "Last action"]}
        actions={may}
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
              <div className="budget-limits">
                <Limits counter={row} />
                {row.requested !== null && <Requested requested={row.requested} />}
              </div>
            </td>
            <td>
              <Counted n={row.n + row.granted_n} sum={row.sum === null ? null : row.sum + row.granted_sum} of={row} />
              <Granted counter={row} />
            </td>
            <td>{row.waiting_n === 0 ? "–" : <Counted n={row.waiting_n} sum={row.waiting_sum} of={row} />}</td>
            <td>{row.last_at === null ? "–" : <Time at={row.last_at} />}</td>
            {may && (
              <td>
                <Buttons counter={row} onAdjust={setAdjusting} />
              </td>
            )}
          </tr>
        ))}
      </ListTable>
      {adjusting !== null && (
        <AdjustDialog adjusting={adjusting} membrane_id={membrane_id} onClose={() => setAdjusting(null)} />
      )}
    </>
  );
}

function Buttons({
  counter,
  onAdjust,
}: {
  readonly counter: Counter;
  readonly onAdjust: (adjusting: Adjusting) => void;
}) {
  const { caller } = useSession();
  const { requested } = counter;
  return (
    <div className="budget-buttons">
      {requested !== null && requested.by !== caller?.person && (
        <button
          type="button"
          className="button small primary"
          onClick={() => onAdjust({ counter, kind: requested.kind, confirmed: requested })}
        >
          Confirm
        </button>
      )}
      <span className="row unbroken">
        <button
          type="button"
          className="button small nowrap"
          onClick={() => onAdjust({ counter, kind: "grant", confirmed: null })}
        >
          Grant more
        </button>
        <button
          type="button"
          className="button small"
          onClick={() => onAdjust({ counter, kind: "reset", confirmed: null })}
        >
          Reset
        </button>
      </span>
    </div>
  );
}

function Requested({ requested }: { readonly requested: NonNullable<Counter["requested"]> }) {
  const wish = requested.kind === "grant" ? `grant ${grantText(requested)} more` : "reset it";
  return (
    <p className="small">
      <Who id={requested.by} />
      {` asked to ${wish}. A second person must confirm.`}
    </p>
  );
}

function Granted({ counter: { value, granted_n, granted_sum } }: { readonly counter: Counter }) {
  const amount = value === null || granted_sum === 0 ? null : granted_sum;
  const actions = granted_n === 0 ? null : granted_n;
  if (amount === null && actions === null) return null;
  return <div className="small muted">{`${grantText({ amount, actions })} granted`}</div>;
}

function Key({ counter: { key, agent_id } }: { readonly counter: Counter }) {
  return (
    <ul className="plain">
      {key.map((value, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a key never change places
        <li key={at}>
          {agent_id !== null && value === foldName(agent_id) ? (
            <AgentLink agent_id={agent_id} />
          ) : (
            <Data text={typeof value === "string" ? value : JSON.stringify(value)} chars_max={80} />
          )}
        </li>
      ))}
    </ul>
  );
}

/** Without a value in the policy, the sum is the number of actions. */
function Counted({
  n,
  sum,
  of: { value },
}: {
  readonly n: number;
  readonly sum: number | null;
  readonly of: Pick<Counter, "value">;
}) {
  return (
    <>
      <span className="nowrap">{actionsText(n)}</span>
      {value !== null && sum === null && (
        <div className="small" title="An action without a usable amount counts.">
          sum unknown
        </div>
      )}
      {value !== null && sum !== null && <div className="nowrap">{`sum ${numberText(sum)}`}</div>}
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
  const [net, waits, granted] =
    field === "n"
      ? [counter.n, counter.waiting_n, counter.granted_n]
      : [counter.sum, counter.waiting_sum, counter.granted_sum];
  const [used, most] = [net === null ? null : net + granted, limit + granted];
  const text = `${used === null ? "unknown" : numberText(used)} of ${numberText(most)}${field === "n" ? " actions" : ""}`;
  return (
    <div className="budget-limit">
      <span className="nowrap">{text}</span>
      {used !== null && most > 0 && (
        <Meter
          share={used / most}
          waits={(waits ?? 0) / most}
          hot={used >= most * near_share}
          label={`${text} used${waits ? `, ${numberText(waits)} of it waits for people` : ""}`}
        />
      )}
      <span className="row small muted">
        <Data text={policy} />
        {policy_mode === "shadow" && <Badge text="shadow" tone="shadow" />}
      </span>
    </div>
  );
}
