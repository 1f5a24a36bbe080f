import type { IntentListItem } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { moneyText } from "../../parts/money.ts";
import { Badge, ModeBadge, VerdictBadge } from "../../parts/records/badge.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { ExactTime } from "../../parts/time.tsx";

export function DecisionRows({ rows }: { readonly rows: readonly IntentListItem[] }) {
  return (
    <ListTable heads={["When", "Verdict", "Agent", "Action", "Reason", "Amount", "Risk"]} numbers={2} opens>
      {rows.map((row) => (
        <tr key={row.intent_id}>
          <td>
            <Link to="/decisions/$intent_id" params={{ intent_id: row.intent_id }}>
              <ExactTime at={row.submitted_at} />
            </Link>
          </td>
          <td className="verdicts">
            <span className="row">
              <VerdictBadge verdict={row.verdict} />
              <ModeBadge mode={row.pipeline_mode} />
              <WhatFollowed row={row} />
            </span>
          </td>
          <td className="name agent">
            <Data text={row.agent.id} chars_max={80} />
          </td>
          <td className="name">
            <ActionOf row={row} />
          </td>
          <td className={row.reason === null ? "words least" : "words"}>
            <Reason row={row} />
          </td>
          <td className="num amount">{row.amount_usd === undefined ? "–" : moneyText(row.amount_usd)}</td>
          <td className="num muted least">{row.risk_score.toFixed(2)}</td>
        </tr>
      ))}
    </ListTable>
  );
}

/** The tool and what it acts on, on one line where there is room. */
export function ActionOf({ row: { action } }: { readonly row: Pick<IntentListItem, "action"> }) {
  const target = action.target?.identifier;
  return (
    <>
      <Data text={action.verb} chars_max={60} />
      {target !== undefined && (
        <>
          <span className="muted">{" → "}</span>
          <Data text={target} chars_max={80} />
        </>
      )}
    </>
  );
}

function Reason({ row: { reason } }: { readonly row: IntentListItem }) {
  if (reason === null) return <span className="muted">–</span>;
  return (
    <span title={reason.policy}>
      <Data text={reason.message} chars_max={140} />
    </span>
  );
}

/** Chips and words for what happened after the verdict. */
function WhatFollowed({ row }: { readonly row: IntentListItem }) {
  const { afterwards, execution, status, verdict, outcome, pipeline_mode } = row;
  const reviewed = verdict === "escalate" && outcome !== null && pipeline_mode !== "shadow";
  return (
    <>
      {status === "pending" && <Badge text="waits" tone="escalate" />}
      {afterwards.includes("overridden") && <Badge text="overridden" tone="approve" />}
      {afterwards.includes("withdrawn") && <Badge text="withdrawn" />}
      {afterwards.includes("contradicted") && <Badge text="executed anyway" tone="block" />}
      {reviewed && !afterwards.includes("withdrawn") && (
        <span className="small muted">{`then ${outcome === "block" ? "blocked" : "approved"}`}</span>
      )}
      {!afterwards.includes("contradicted") && execution !== undefined && execution.status !== "none" && (
        <span className="small muted">{executionWords[execution.status]}</span>
      )}
    </>
  );
}

export const executionWords: Readonly<
  Record<Exclude<NonNullable<IntentListItem["execution"]>["status"], "none">, string>
> = {
  executed: "executed",
  failed: "failed",
  skipped: "skipped",
  claimed: "under way",
  unknown: "outcome unknown",
  revoked: "approval revoked",
  handed_on: "handed on",
};
