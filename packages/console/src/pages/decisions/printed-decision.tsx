/** One intent on paper: who asked, who decided and why, what was done, and each audit row. */
import type { AuditRecord, Escalation, IntentAnswer } from "@countersign/contract";
import { pagesOf } from "@countersign/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useClient, useReads } from "../../api/session.tsx";
import { nowMs } from "../../browser/clock.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { auditNote, auditWord } from "../../parts/records/audit-words.ts";
import { ModeBadge, VerdictBadge } from "../../parts/records/badge.tsx";
import { Facts, Payload, Reasons, Risk } from "../../parts/records/decision-parts.tsx";
import { shownAnswer } from "../../parts/records/shown.ts";
import { IntentFields, Wants } from "../../parts/records/wants.tsx";
import { Who } from "../../parts/records/who.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { Said } from "../../parts/tables/scrolls.tsx";
import { ExactTime } from "../../parts/time.tsx";
import { Votes } from "../../review/detail/votes.tsx";
import { executionWords } from "./execution-words.ts";

interface Printed {
  readonly answer: IntentAnswer;
  readonly audit: readonly AuditRecord[];
  readonly review: Escalation | null;
  readonly at: string;
}

export function PrintedDecisionPage() {
  const { intent_id } = useParams({ from: "/frame/decisions/$intent_id/print" });
  const client = useClient();
  const reads = useReads();
  const query = useQuery({
    queryKey: ["intents", "printed", intent_id],
    queryFn: async (): Promise<Printed> => {
      const answer = shownAnswer(await client.getIntent(intent_id));
      const audit: AuditRecord[] = [];
      const pages = pagesOf((place) => client.listIntentAudit(intent_id, { limit: 200, ...place }));
      for await (const page of pages) audit.push(...page.audit);
      const review_id = reads ? answer.decision.escalation_id : null;
      const review = review_id === null ? null : await client.getEscalation(review_id);
      return { answer, audit, review, at: new Date(nowMs()).toISOString() };
    },
  });
  return (
    <>
      <PageHead title="Record of an action" about={<span className="mono small">{intent_id}</span>}>
        <Link className="button small on-screen" to="/decisions/$intent_id" params={{ intent_id }}>
          Back
        </Link>
        <button type="button" className="button small primary on-screen" onClick={() => window.print()}>
          Print or save as PDF
        </button>
      </PageHead>
      <Loaded query={query} what="the record">
        {(printed) => <Whole {...printed} />}
      </Loaded>
    </>
  );
}

function Whole({ answer: { intent, facts, decision }, audit, review, at }: Printed) {
  const { content, summary = "" } = intent.payload ?? {};
  return (
    <>
      <section className="card stack tight">
        <h2>Who asked for what</h2>
        <Wants intent={intent} />
        {summary !== "" && <Said text={summary} />}
        <p className="small">
          {"Submitted "}
          <ExactTime at={intent.submitted_at} />
          {intent.submitted_by.id !== null && (
            <>
              {" by "}
              <Who id={intent.submitted_by.id} />
            </>
          )}
          .
        </p>
        <IntentFields intent={intent} />
        <Payload decision={decision} content={content} printed />
      </section>
      <section className="card stack tight">
        <h2>Decision and rules</h2>
        <p className="row">
          <VerdictBadge verdict={decision.verdict} />
          <ModeBadge mode={decision.pipeline_mode} always />
          <ExactTime at={decision.timestamp} />
          <span className="small">{endOf(decision)}</span>
        </p>
        <Reasons decision={decision} />
        <Risk decision={decision} />
        <p className="small muted">
          {`Policy set ${decision.policy_set.version}, `}
          <span className="mono hash">{decision.policy_set.sha256}</span>
        </p>
      </section>
      <section className="card stack tight">
        <h2>Facts</h2>
        <Facts facts={facts} decided_at={decision.timestamp} />
      </section>
      {review !== null && (
        <section className="card">
          <Votes escalation={review} content={content} />
        </section>
      )}
      <AuditRows audit={audit} />
      <p className="small muted">
        {"Read "}
        <ExactTime at={at} />
        {". The hash of each row is that of its entry in the ledger."}
      </p>
    </>
  );
}

function endOf({ status, outcome, execution, enforced }: IntentAnswer["decision"]): string {
  const end =
    status === "pending" ? "Waits for review" : outcome === "block" ? "In the end blocked" : "In the end approved";
  const done = execution === undefined ? null : executionWords[execution.status];
  const parts = [enforced ? end : "Shadow: nothing was held", done === null ? "no outcome was reported" : done];
  return `${parts.join("; ")}.`;
}

function AuditRows({ audit }: { readonly audit: readonly AuditRecord[] }) {
  return (
    <section className="card stack tight">
      <h2>What happened</h2>
      <ListTable heads={["Row", "When", "What", "By", "Hash"]} caption="Audit rows">
        {audit.map((row) => {
          const note = auditNote(row);
          return (
            <tr key={row.audit_id}>
              <td>{row.seq}</td>
              <td>
                <ExactTime at={row.at} />
              </td>
              <td>
                {auditWord(row.type)}
                {note !== null && (
                  <div className="small muted">
                    <Data text={note} lines />
                  </div>
                )}
              </td>
              <td>{row.actor.id === null ? "the service" : <Who id={row.actor.id} />}</td>
              <td className="mono small hash">{row.hash}</td>
            </tr>
          );
        })}
      </ListTable>
    </section>
  );
}
