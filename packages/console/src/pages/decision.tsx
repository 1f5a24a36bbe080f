import type { AuditRecord, Decision, IntentAnswer } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useClient, useMay, useReads } from "../api/session.tsx";
import { EraseDialog } from "../erasure/erase-dialog.tsx";
import { FreezeButton } from "../freezes/freeze-button.tsx";
import { CopyButton } from "../parts/forms/copy.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ModeBadge, VerdictBadge } from "../parts/records/badge.tsx";
import { Facts, Payload, Reasons, Risk, Timeline, WouldApprove } from "../parts/records/decision-parts.tsx";
import { JsonView } from "../parts/records/json-view.tsx";
import { shownAnswer } from "../parts/records/shown.ts";
import { IntentFields, Wants } from "../parts/records/wants.tsx";
import { Who } from "../parts/records/who.tsx";
import { Loaded } from "../parts/states.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { Said } from "../parts/tables/scrolls.tsx";
import { ExactTime, Time } from "../parts/time.tsx";
import { AllowSimilar } from "../review/allow-similar.tsx";
import { ApprovalNote } from "../review/approval.tsx";
import { OverrideOf } from "../review/override.tsx";
import { AgentLink } from "./agents/agent-link.tsx";
import { executionWords } from "./decisions/execution-words.ts";
import { ReceiptButton } from "./decisions/receipt-button.tsx";

export function DecisionPage() {
  const { intent_id } = useParams({ from: "/frame/decisions/$intent_id" });
  const client = useClient();
  const query = useQuery({
    queryKey: ["intents", "one", intent_id],
    queryFn: async () => shownAnswer(await client.getIntent(intent_id)),
    refetchInterval: ({ state }) => (state.data?.decision.status === "pending" ? 3_000 : false),
  });
  return (
    <>
      <PageHead title="Decision" about={<span className="mono small">{intent_id}</span>}>
        <CopyButton text={intent_id} label="Copy id" />
        <EraseIntent intent_id={intent_id} />
        <Link className="button small" to="/decisions/$intent_id/print" params={{ intent_id }}>
          Print
        </Link>
        <ReceiptButton intent_id={intent_id} />
      </PageHead>
      <Loaded query={query} what="the decision">
        {(answer) => <Whole answer={answer} />}
      </Loaded>
    </>
  );
}

function Whole({ answer: { intent, facts, decision, ancestors = [] } }: { readonly answer: IntentAnswer }) {
  const trail = useTrail(intent.intent_id, decision.status === "pending");
  const contradiction = trail.rows.find(({ type }) => type === "contradicted");
  return (
    <>
      {contradiction !== undefined && <Contradicted report={contradiction} />}
      {!decision.enforced && <NotEnforced />}
      {decision.erased !== undefined && <ErasedNote erased={decision.erased} />}
      <section className="card stack">
        <div className="row">
          <VerdictBadge verdict={decision.verdict} />
          <ModeBadge mode={decision.pipeline_mode} always />
          <ExactTime at={decision.timestamp} />
          <Outcome decision={decision} />
          <ExecutionNote decision={decision} />
          <ApprovalNote decision={decision} />
          <FreezeAgent agent_id={decision.agent_id} />
        </div>
        <Wants intent={intent} />
        {intent.payload?.summary !== undefined && intent.payload.summary !== "" && (
          <Said text={intent.payload.summary} />
        )}
        {decision.verdict === "block" && decision.enforced && <OverrideOf decision={decision} />}
        <AllowSimilar decision={decision} intent={intent} />
      </section>
      {decision.would_approve_if !== null && decision.would_approve_if.length > 0 && (
        <section className="card stack tight">
          <WouldApprove changes={decision.would_approve_if} />
        </section>
      )}
      <div className="grid-2">
        <section className="card stack tight">
          <h2>Reasons</h2>
          <Reasons decision={decision} />
        </section>
        <section className="card stack tight">
          <h2>Risk</h2>
          <Risk decision={decision} />
        </section>
      </div>
      <section className="card stack tight">
        <h2>The action</h2>
        <Payload decision={decision} content={intent.payload?.content} />
        <IntentFields intent={intent} />
        <Above ancestors={ancestors} />
      </section>
      <section className="card stack tight">
        <h2>Facts</h2>
        <Facts facts={facts} decided_at={decision.timestamp} />
        {decision.valid_until !== null && (
          <p className="small muted">
            {"The facts behind this decision are valid until "}
            <Time at={decision.valid_until} />.
          </p>
        )}
      </section>
      <AuditTrail trail={trail} />
      <details className="card">
        <summary>Decision record as JSON</summary>
        <JsonView value={decision} label="Decision record" />
      </details>
    </>
  );
}

function EraseIntent({ intent_id }: { readonly intent_id: string }) {
  const admin = useMay("admin");
  const [asks, setAsks] = useState(false);
  if (!admin) return null;
  return (
    <>
      <button type="button" className="button small" onClick={() => setAsks(true)}>
        Erase content
      </button>
      {asks && <EraseDialog given={{ kind: "intent", subject: intent_id }} onClose={() => setAsks(false)} />}
    </>
  );
}

function ErasedNote({ erased: { at, by } }: { readonly erased: NonNullable<Decision["erased"]> }) {
  return (
    <div className="banner">
      <div>
        <strong>Content erased</strong>
        {"Erased on "}
        <ExactTime at={at} />
        {" by "}
        {by === "retention" ? "retention" : <Who id={by} />}
        {". Ids, times and the verdict stay."}
      </div>
    </div>
  );
}

function NotEnforced() {
  return (
    <div className="banner shadow">
      <div>
        <strong>Shadow: nothing was held</strong>
        The decision was made and recorded; the agent did not have to wait.
      </div>
    </div>
  );
}

/** The agents above the acting one, whose rules counted, too. */
function Above({ ancestors }: { readonly ancestors: NonNullable<IntentAnswer["ancestors"]> }) {
  if (ancestors.length === 0) return null;
  return (
    <p className="small row">
      {"Rules about these agents counted, too: "}
      {ancestors.map(({ agent_id, source }) => (
        <span key={agent_id}>
          <AgentLink agent_id={agent_id} />
          {source === "submitted" && <span className="muted">, as the agent says</span>}
        </span>
      ))}
    </p>
  );
}

function FreezeAgent({ agent_id }: { readonly agent_id: string }) {
  return (
    <span className="row">
      <span className="small muted">This agent:</span>
      <AgentLink agent_id={agent_id} />
      <FreezeButton target={{ kind: "agent", id: agent_id }} />
    </span>
  );
}

function Outcome({ decision }: { readonly decision: Decision }) {
  const review_id = useReads() ? decision.escalation_id : null;
  if (decision.status === "pending")
    return (
      <span className="small">
        {"waits for review"}
        {review_id !== null && (
          <>
            {": "}
            <Link to="/escalations/$escalation_id" params={{ escalation_id: review_id }}>
              open it
            </Link>
          </>
        )}
      </span>
    );
  return (
    <>
      {decision.outcome !== null && decision.outcome !== decision.verdict && (
        <span className="small muted">{`in the end ${decision.outcome === "block" ? "blocked" : "approved"}`}</span>
      )}
      {decision.resumed_from !== undefined && (
        <Link className="small" to="/decisions/$intent_id" params={{ intent_id: decision.resumed_from }}>
          approved earlier, as an equal action
        </Link>
      )}
      {decision.human_override_id !== null && (
        <span className="small muted">{`passed by override ${decision.human_override_id}`}</span>
      )}
      {decision.grant_id !== undefined && (
        <span className="small muted">{`allowed in advance by grant ${decision.grant_id}`}</span>
      )}
      {review_id !== null && (
        <Link className="small" to="/escalations/$escalation_id" params={{ escalation_id: review_id }}>
          its review
        </Link>
      )}
    </>
  );
}

function ExecutionNote({ decision: { execution } }: { readonly decision: Decision }) {
  const words = execution === undefined ? null : executionWords[execution.status];
  if (words === null || execution?.at == null) return null;
  return (
    <span className={`small ${execution.status === "unknown" ? "late" : "muted"}`}>
      {`${words} (`}
      <Time at={execution.at} />)
    </span>
  );
}

const notLetThrough: Readonly<Record<string, string>> = {
  blocked: "it was blocked",
  pending: "its review was still open",
  withdrawn: "it was withdrawn from review",
  not_claimed: "it was approved, but not claimed by this agent, so it may have been done twice",
  expired: "people had approved it, but the approval had expired",
};

function Contradicted({ report: { at, data } }: { readonly report: AuditRecord }) {
  return (
    <div className="banner bad" role="alert">
      <div>
        <strong>The agent reports that it carried this out, which it was not allowed to</strong>
        {`When the agent reported that it was done, ${notLetThrough[String(data["because"])] ?? "it was not approved"}: `}
        <Time at={at} />. Find out what was done, and stop this agent until it waits for decisions.
      </div>
    </div>
  );
}

function useTrail(intent_id: string, pending: boolean) {
  const client = useClient();
  return usePaged(
    ["audit", intent_id, pending],
    async (cursor) => {
      const page = await client.listIntentAudit(intent_id, { limit: 200, ...(cursor === undefined ? {} : { cursor }) });
      return { rows: page.audit, next_cursor: page.next_cursor };
    },
    { joins: true },
  );
}

function AuditTrail({ trail }: { readonly trail: ReturnType<typeof useTrail> }) {
  return (
    <section className="card stack tight">
      <h2>What happened</h2>
      <Paged list={trail} what="rows" empty={<p className="muted">Nothing is recorded yet.</p>}>
        {(audit) => <Timeline audit={audit} />}
      </Paged>
    </section>
  );
}
