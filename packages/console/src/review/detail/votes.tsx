import type { Escalation } from "@countersign/contract";
import { Badge, VerdictBadge } from "../../parts/records/badge.tsx";
import { Reviewers, Who } from "../../parts/records/who.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Time } from "../../parts/time.tsx";
import { ChangesOf, Ending } from "../case.tsx";
import { fastText } from "./pace-text.ts";
import { Panels } from "./panels.tsx";

export function Votes({ escalation, content }: { readonly escalation: Escalation; readonly content: unknown }) {
  const { votes, quorum, reviewers, panels, status } = escalation;
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
      <Panels panels={panels} />
      {votes.map((vote) => (
        <div key={`${vote.reviewer} ${vote.at}`} className="reason">
          <div className="row">
            <VerdictBadge verdict={vote.outcome} />
            <Who id={vote.reviewer} />
            <Time at={vote.at} />
          </div>
          <Capacity vote={vote} />
          {vote.comment !== null && <Data text={vote.comment} lines />}
          {vote.confirmed !== undefined && <p className="small">{confirmed[vote.confirmed]}</p>}
          {vote.fast !== undefined && <p className="small">{fastText(vote.fast)}</p>}
          {vote.message_to_agent !== undefined && (
            <p>
              <span className="small muted">To the agent: </span>
              <Data text={vote.message_to_agent} lines />
            </p>
          )}
          {vote.modifications && <ChangesOf changes={vote.modifications} content={content} />}
        </div>
      ))}
      <Comments comments={escalation.comments ?? []} />
      <Ending escalation={escalation} />
    </section>
  );
}

function Comments({ comments }: { readonly comments: NonNullable<Escalation["comments"]> }) {
  return comments.map(({ by, comment, at }) => (
    <div key={`${by} ${at}`} className="reason">
      <div className="row">
        <Badge text="comment" />
        <Who id={by} />
        <Time at={at} />
      </div>
      <Data text={comment} lines />
    </div>
  ));
}

const confirmed = {
  passkey: "Signed with a passkey. The receipt has the signature.",
  totp: "Confirmed with a code of the authenticator.",
} as const;

const lapses = {
  removed: "the person was removed",
  role_changed: "the person now has another role",
  key_ended: "no key of the person is valid any more",
  absence_ended: "the absence that the person covered is over",
} as const;

function Capacity({ vote: { party, in_place_of, lapsed } }: { readonly vote: Escalation["votes"][number] }) {
  return (
    <>
      {in_place_of?.map((id) => (
        <p key={id} className="small muted">
          {"In place of "}
          <Who id={id} />
        </p>
      ))}
      {party && <p className="small muted">The action is for this person, so somebody else must approve, too.</p>}
      {lapsed !== undefined && (
        <p className="small">
          {`No longer counts, because ${lapses[lapsed.because]}. Rules: `}
          <Data text={lapsed.panels.join(", ")} />
        </p>
      )}
    </>
  );
}
