/** The top of an escalation: its status, its time limit, and whether it is a test. */
import type { Escalation } from "@countersign/contract";
import { ModeBadge, SelfReviewed, StatusBadge } from "../../parts/records/badge.tsx";
import { Time, TimeLeft } from "../../parts/time.tsx";

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
        {open && (
          <span className="small muted">{`without an answer: ${escalation.on_timeout === "block" ? "blocked" : "approved"}`}</span>
        )}
      </div>
      {escalation.self_reviewed && (
        <div className="banner warn">
          <div>
            <strong>Self-reviewed: one person asked and decided</strong>
            The organization had no second person. Invite one, and nobody decides on their own actions any more.
          </div>
        </div>
      )}
      {escalation.pipeline_mode === "test" && (
        <div className="banner shadow">
          <div>
            <strong>Test: nothing real waits for this</strong>
            It was raised with a test key to try the flow.
          </div>
        </div>
      )}
    </>
  );
}
