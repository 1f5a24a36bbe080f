/** Everything a reviewer needs to rule on one escalation, and the buttons to do it. */
import type { Decision, Escalation } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useEffect, useId, useRef, useState } from "react";
import { useMay, useSession } from "../api/session.tsx";
import { focusIsLost } from "../browser/focus.ts";
import { ModeBadge, StatusBadge, VerdictBadge } from "../parts/records/badge.tsx";
import { Facts, Payload, Reasons, Risk, WouldApprove } from "../parts/records/decision-parts.tsx";
import { IntentFields, Wants } from "../parts/records/wants.tsx";
import { InOtherHands, Reviewers, useInHands, Who } from "../parts/records/who.tsx";
import { Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { Said } from "../parts/tables/scrolls.tsx";
import { Time, TimeLeft } from "../parts/time.tsx";
import { CaseLine, ChangesOf, Ending } from "./case.tsx";
import { similar_among, useEscalation, useIntent, useSimilar } from "./escalation-data.ts";
import { RuleBar } from "./rule-bar.tsx";
import { type Act, ActDialog } from "./ruling.tsx";
import { useKeys } from "./shortcuts.tsx";

/** `called`: somebody went to it by keyboard, so the focus goes with them, and a screen reader says which case it is. */
export function EscalationDetail({
  escalation_id,
  called = false,
  onDone = () => undefined,
}: {
  readonly escalation_id: string;
  readonly called?: boolean;
  readonly onDone?: (after: Escalation) => void;
}) {
  const query = useEscalation(escalation_id);
  return (
    <Loaded query={query} what="the escalation">
      {(escalation) => <Detail escalation={escalation} called={called} onDone={onDone} />}
    </Loaded>
  );
}

function Detail({
  escalation,
  called,
  onDone,
}: {
  readonly escalation: Escalation;
  readonly called: boolean;
  readonly onDone: (after: Escalation) => void;
}) {
  const intentQuery = useIntent(escalation);
  const article = useRef<HTMLElement>(null);
  const acted = useRef(false);
  const name = useId();
  useEffect(() => {
    if (called) article.current?.focus({ preventScroll: true });
  }, [called]);
  const [act, setAct] = useState<Act | null>(null);
  useEffect(() => {
    // After a ruling the button that the dialog would give the focus back to is gone, or says no more.
    if (act === null && acted.current && focusIsLost()) article.current?.focus({ preventScroll: true });
    acted.current = act !== null;
  }, [act]);
  const reviews = useMay("reviewer");
  const operates = useMay("operator");
  const { caller } = useSession();
  const open = escalation.status === "pending";
  const seen = open && reviews && intentQuery.data !== undefined;
  const mine = useInHands()(escalation);
  const can = seen && mine;
  // Approving twice counts once; who has approved alone may still change it, or block.
  const approved = escalation.votes.some((vote) => vote.reviewer === caller?.id && vote.outcome === "approve");
  const others = escalation.votes.filter((vote) => vote.reviewer !== caller?.id && vote.outcome !== "block");
  // Approvals have to be for the same action.
  const same = others.find((vote) => vote.modifications)?.modifications ?? null;
  const approval = same === null ? "approve" : "approve_same";
  useKeys(
    can
      ? {
          ...(approved ? {} : { a: () => setAct(approval) }),
          b: () => setAct("block"),
          m: () => setAct("approve_modified"),
        }
      : {},
    act === null,
  );
  return (
    <article className="card stack" aria-labelledby={name} tabIndex={-1} ref={article}>
      <h2 className="sr" id={name}>
        {"Escalation: "}
        <CaseLine escalation={escalation} />
      </h2>
      <div className="row">
        <StatusBadge escalation={escalation} />
        <ModeBadge mode={escalation.pipeline_mode} />
        {open ? <TimeLeft until={escalation.expires_at} /> : null}
        <span className="small muted">
          {"raised "}
          <Time at={escalation.created_at} />
        </span>
        {open && (
          <span className="small muted">{`without an answer: ${escalation.on_timeout === "block" ? "blocked" : "approved"}`}</span>
        )}
      </div>
      {escalation.pipeline_mode === "test" && (
        <div className="banner shadow">
          <div>
            <strong>Test: nothing real waits for this</strong>
            It was raised with a test key to try the flow.
          </div>
        </div>
      )}
      <Loaded query={intentQuery} what="the action">
        {({ intent, facts, decision }) => (
          <>
            {!decision.enforced && (
              <div className="banner shadow">
                <div>
                  <strong>Shadow: nothing is held</strong>
                  The agent went on without waiting for this decision.
                </div>
              </div>
            )}
            <Wants intent={intent} />
            {intent.payload?.summary !== undefined && intent.payload.summary !== "" && (
              <Said text={intent.payload.summary} />
            )}
            <section className="stack tight">
              <h2>Why it waits</h2>
              <Reasons decision={decision} />
            </section>
            {decision.would_approve_if !== null && decision.would_approve_if.length > 0 && (
              <section className="stack tight">
                <WouldApprove changes={decision.would_approve_if} />
              </section>
            )}
            <section className="stack tight">
              <h2>What exactly</h2>
              <Payload decision={decision} content={intent.payload?.content} />
              <IntentFields intent={intent} />
            </section>
            <section className="stack tight">
              <h2>Facts</h2>
              <Facts facts={facts} decided_at={decision.timestamp} />
            </section>
            <Risk decision={decision} />
            <Votes escalation={escalation} content={baseOf(escalation, decision, intent.payload?.content)} />
            <Similar escalation={escalation} />
            <p className="small">
              <Link to="/decisions/$intent_id" params={{ intent_id: escalation.intent_id }}>
                The whole decision with its audit trail
              </Link>
            </p>
            {act !== null && (
              <ActDialog
                act={act}
                escalation={escalation}
                content={baseOf(escalation, decision, intent.payload?.content)}
                same={same}
                offered={decision.would_approve_if}
                onClose={() => setAct(null)}
                onDone={onDone}
              />
            )}
          </>
        )}
      </Loaded>
      {open && reviews && (
        <RuleBar>
          {mine ? (
            <>
              <button
                type="button"
                className="button good"
                disabled={!can || approved}
                onClick={() => setAct(approval)}
              >
                {approved ? "You have approved" : same === null ? "Approve" : "Approve the same"} <kbd>a</kbd>
              </button>
              <button type="button" className="button" disabled={!can} onClick={() => setAct("approve_modified")}>
                With changes <kbd>m</kbd>
              </button>
              <button type="button" className="button bad" disabled={!can} onClick={() => setAct("block")}>
                Block <kbd>b</kbd>
              </button>
            </>
          ) : (
            <p className="small">
              <InOtherHands reviewers={escalation.reviewers} />
            </p>
          )}
          {operates && (
            <span className="others">
              <button type="button" className="button small quiet" disabled={!seen} onClick={() => setAct("reassign")}>
                Reassign
              </button>
              <button type="button" className="button small quiet" disabled={!seen} onClick={() => setAct("cancel")}>
                Cancel review
              </button>
            </span>
          )}
        </RuleBar>
      )}
    </article>
  );
}

/** What reviewers change: the action as policies let it through. Of a closed review only what was submitted is known. */
function baseOf({ status }: Escalation, decision: Decision, content: unknown): unknown {
  return (status === "pending" ? decision.modified_content : null) ?? content;
}

function Votes({ escalation, content }: { readonly escalation: Escalation; readonly content: unknown }) {
  const { votes, quorum, reviewers, status } = escalation;
  const missing = quorum.required - quorum.approvals;
  return (
    <section className="stack tight" aria-label="Review">
      <h2>Review</h2>
      {status === "pending" && quorum.approvals > 0 && (
        <div className="banner warn">
          <div>
            <strong>
              {missing === 1 ? "One more person has to approve" : `${missing} more people have to approve`}
            </strong>
            The action waits until then. One rejection blocks it.
          </div>
        </div>
      )}
      <p className="small muted">
        {`${quorum.approvals} of ${quorum.required} approvals given. Decided by: `}
        <Reviewers reviewers={reviewers} />.
      </p>
      {votes.map((vote) => (
        <div key={`${vote.reviewer} ${vote.at}`} className="reason">
          <div className="row">
            <VerdictBadge verdict={vote.outcome} />
            <Who id={vote.reviewer} />
            <Time at={vote.at} />
          </div>
          {vote.comment !== null && <Data text={vote.comment} lines />}
          {vote.modifications && <ChangesOf changes={vote.modifications} content={content} />}
        </div>
      ))}
      <Ending escalation={escalation} />
    </section>
  );
}

function Similar({ escalation }: { readonly escalation: Escalation }) {
  return (
    <section className="stack tight">
      <h2>Similar cases</h2>
      <Loaded query={useSimilar(escalation)} what="similar cases">
        {(similar) => <SimilarCases {...similar} />}
      </Loaded>
    </section>
  );
}

function SimilarCases({ cases, all }: { readonly cases: readonly Escalation[]; readonly all: boolean }) {
  const among = `the last ${similar_among} of this agent that were decided`;
  if (cases.length === 0)
    return (
      <p className="small muted">
        {all ? "No other of this agent with this tool has been decided so far." : `None with this tool among ${among}.`}
      </p>
    );
  const approved = cases.filter(({ resolution }) => resolution !== null && resolution.outcome !== "block").length;
  return (
    <>
      <p className="small muted">
        {`${approved} of ${cases.length} like this were approved${all ? "" : `, among ${among}`}.`}
      </p>
      <ul className="plain stack tight">
        {cases.slice(0, 5).map((each) => (
          <li key={each.escalation_id} className="row small">
            {each.resolution !== null && <VerdictBadge verdict={each.resolution.outcome} />}
            <Link to="/escalations/$escalation_id" params={{ escalation_id: each.escalation_id }}>
              <Data text={each.action.target?.identifier ?? each.action.verb} chars_max={60} />
            </Link>
            <Time at={each.closed_at ?? each.created_at} />
            {each.resolution?.comment != null && (
              <span className="muted">
                <Data text={each.resolution.comment} chars_max={120} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
