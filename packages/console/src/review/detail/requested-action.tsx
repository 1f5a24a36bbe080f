import type { Escalation, IntentAnswer } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { Facts, Payload, Reasons, Risk, WouldApprove } from "../../parts/records/decision-parts.tsx";
import { IntentFields, Wants } from "../../parts/records/wants.tsx";
import { CountsLeftOut } from "../../parts/tables/left-out.tsx";
import { Said } from "../../parts/tables/scrolls.tsx";
import { AmountsThatDiffer } from "./amounts.tsx";
import { SimilarCases } from "./similar-cases.tsx";
import { Votes } from "./votes.tsx";

export function RequestedAction({
  escalation,
  answer: { intent, facts, decision },
  content,
}: {
  readonly escalation: Escalation;
  readonly answer: IntentAnswer;
  /** The parameters that an approval would allow. */
  readonly content: unknown;
}) {
  return (
    <>
      {!decision.enforced && (
        <div className="banner shadow">
          <div>
            <strong>Shadow: nothing is held</strong>
            The agent continued without this decision.
          </div>
        </div>
      )}
      <Wants intent={intent} />
      <AmountsThatDiffer intent={intent} />
      {intent.payload?.summary !== undefined && intent.payload.summary !== "" && <Said text={intent.payload.summary} />}
      <CountsLeftOut tell={null}>
        <SimilarCases escalation={escalation} />
      </CountsLeftOut>
      <section className="stack tight">
        <h2>Why it waits</h2>
        <Reasons decision={decision} />
      </section>
      <CountsLeftOut tell={null}>
        <Votes escalation={escalation} content={content} />
      </CountsLeftOut>
      {decision.would_approve_if !== null && decision.would_approve_if.length > 0 && (
        <section className="stack tight">
          <WouldApprove changes={decision.would_approve_if} />
        </section>
      )}
      <section className="stack tight">
        <h2>What exactly</h2>
        <Payload decision={decision} content={intent.payload?.content} />
      </section>
      <section className="stack tight">
        <h2>Facts</h2>
        <Facts facts={facts} decided_at={decision.timestamp} />
      </section>
      <details className="stack tight">
        <summary>
          <h2>{`Tool, session and risk ${decision.risk_score.toFixed(2)}`}</h2>
        </summary>
        <div className="stack tight">
          <IntentFields intent={intent} />
          <Risk decision={decision} />
        </div>
      </details>
      <p className="small">
        <Link to="/decisions/$intent_id" params={{ intent_id: escalation.intent_id }}>
          The whole decision with its audit trail
        </Link>
      </p>
    </>
  );
}
