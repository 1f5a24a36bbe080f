import type { Escalation } from "@countersign/contract";
import { InOtherHands } from "../../parts/records/who.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Marks } from "../marks/marks.tsx";
import { RuleBar } from "../rule-bar.tsx";
import type { Act } from "../ruling.tsx";
import type { RulingRights } from "./ruling-rights.ts";

export function RulingButtons({
  escalation,
  rights,
  onAct,
}: {
  readonly escalation: Escalation;
  readonly rights: RulingRights;
  readonly onAct: (act: Act) => void;
}) {
  if (!rights.reviews) return null;
  return (
    <RuleBar>
      {rights.mine ? (
        <VoteButtons rights={rights} onAct={onAct} />
      ) : (
        <p className="small">
          <InOtherHands reviewers={escalation.reviewers} />
        </p>
      )}
      {rights.mine && rights.seen && (
        <span className="others">
          <Marks members={[escalation]} keys />
        </span>
      )}
      {rights.operates && (
        <span className={rights.mine && rights.seen ? "row" : "others"}>
          <button
            type="button"
            className="button small quiet"
            disabled={!rights.seen}
            onClick={() => onAct("reassign")}
          >
            Reassign
          </button>
          <button type="button" className="button small quiet" disabled={!rights.seen} onClick={() => onAct("cancel")}>
            Cancel review
          </button>
        </span>
      )}
    </RuleBar>
  );
}

function VoteButtons({
  rights: { can, approved, awaited, same, approval },
  onAct,
}: {
  readonly rights: RulingRights;
  readonly onAct: (act: Act) => void;
}) {
  return (
    <>
      <button
        type="button"
        className="button good"
        disabled={!can || approved || awaited !== null}
        onClick={() => onAct(approval)}
      >
        {approved ? "You have approved" : same === null ? "Approve" : "Approve the same"} <kbd>a</kbd>
      </button>
      <button
        type="button"
        className="button"
        disabled={!can || awaited !== null}
        onClick={() => onAct("approve_modified")}
      >
        With changes <kbd>m</kbd>
      </button>
      <button type="button" className="button bad" disabled={!can} onClick={() => onAct("block")}>
        Block <kbd>b</kbd>
      </button>
      {awaited !== null && (
        <p className="small">
          {"Your turn to approve comes after "}
          <Data text={awaited} />. You can block now.
        </p>
      )}
    </>
  );
}
