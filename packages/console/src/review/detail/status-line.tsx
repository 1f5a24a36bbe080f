import type { Escalation } from "@countersign/contract";
import { ModeBadge, SelfReviewed, StatusBadge } from "../../parts/records/badge.tsx";
import { Who } from "../../parts/records/who.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Time, TimeLeft } from "../../parts/time.tsx";

const nobodyWaitsTexts = {
  key_revoked: "The key of the submission is revoked, so the agent cannot read the outcome.",
  key_expired: "The key of the submission has expired, so the agent cannot read the outcome.",
  frozen:
    "Its agent, key or organization was frozen after this was raised. Nobody can approve it until the freeze ends. You can block it.",
} as const satisfies Record<NonNullable<Escalation["nobody_waits"]>, string>;

export function StatusLine({ escalation }: { readonly escalation: Escalation }) {
  const open = escalation.status === "pending";
  return (
    <>
      <div className="row">
        <StatusBadge escalation={escalation} />
        <SelfReviewed escalation={escalation} />
        <ModeBadge mode={escalation.pipeline_mode} />
        {open ? <TimeLeft until={escalation.expires_at} /> : null}
        <span className="small muted">
          {"raised "}
          <Time at={escalation.created_at} />
        </span>
        {escalation.taken !== undefined && (
          <span className="small">
            {"taken by "}
            <Who id={escalation.taken.by} />
          </span>
        )}
        {escalation.snoozed_until !== undefined && (
          <span className="small muted">
            {"snoozed, back "}
            <Time at={escalation.snoozed_until} />
          </span>
        )}
        {open && (
          <span className="small muted">{`without an answer: ${escalation.on_timeout === "block" ? "blocked" : "approved"}`}</span>
        )}
      </div>
      {escalation.nobody_waits !== undefined && (
        <div className="banner warn">
          <div>
            <strong>
              {escalation.nobody_waits === "frozen" ? "Nobody can approve this" : "Nobody waits for this"}
            </strong>
            {nobodyWaitsTexts[escalation.nobody_waits]}
          </div>
        </div>
      )}
      {open && escalation.nobody_can_decide !== undefined && (
        <div className="banner bad" role="status">
          <div>
            <strong>Nobody can decide this</strong>
            <Data text={escalation.nobody_can_decide} />
          </div>
        </div>
      )}
      {open && escalation.blocked_now !== undefined && <BlockedNow blocks={escalation.blocked_now} />}
      {escalation.self_reviewed && (
        <div className="banner warn">
          <div>
            <strong>Self-reviewed: one person asked and decided</strong>
            The organization had no second person. After you invite one, nobody decides on their own actions.
          </div>
        </div>
      )}
      {escalation.pipeline_mode === "test" && (
        <div className="banner shadow">
          <div>
            <strong>Test: no real action waits for this</strong>A test key submitted it to try the flow.
          </div>
        </div>
      )}
    </>
  );
}

function BlockedNow({ blocks }: { readonly blocks: NonNullable<Escalation["blocked_now"]> }) {
  return (
    <div className="banner bad" role="status">
      <div>
        <strong>This action cannot be approved now</strong>
        <ul>
          {blocks.map(({ policy, message }) => (
            <li key={`${policy} ${message}`}>
              {message} <span className="mono small">({policy})</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
