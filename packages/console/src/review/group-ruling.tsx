/** One ruling on several near-identical escalations: which, how far it is, and what became of each. */
import type { Escalation } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import { adviceOn } from "../api/advice.ts";
import { useDraft } from "../api/draft.ts";
import { Data } from "../parts/data.tsx";
import { Meter } from "../parts/decision-parts.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { TextArea } from "../parts/field.tsx";
import { Failed } from "../parts/states.tsx";
import { TimeLeft } from "../parts/time.tsx";
import { Deed } from "../parts/wants.tsx";
import { type Group, useDifferences } from "./escalation-data.ts";
import { type Item, useGroupRun, waiting } from "./group-run.ts";
import type { Difference, Differences } from "./what-differs.ts";

type GroupOutcome = "approve" | "block";

/** The group as it was when somebody asked: what arrives later was not looked at and is not ruled on. */
export function GroupRuling({
  group: { key, members },
  onClose: close,
}: {
  readonly group: Group;
  /** With what is closed now. */
  readonly onClose: (closed: readonly string[]) => void;
}) {
  const run = useGroupRun();
  const { data: differences, error, refetch } = useDifferences(members);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [comment, setComment, dropComment] = useDraft(`comment.${key}`);
  const onClose = () => {
    dropComment();
    close(members.map(({ escalation_id }) => escalation_id).filter((id) => isClosed(run.items.get(id))));
  };
  const [outcome, setOutcome] = useState<GroupOutcome | null>(null);
  const chosen = members.map(({ escalation_id }) => escalation_id).filter((id) => !left.has(id));
  const over = chosen.filter((id) => isOver(run.items.get(id))).length;
  const begun = outcome !== null;
  const finished = begun && over === chosen.length;

  const begin = (next: GroupOutcome) => {
    setOutcome(next);
    void run.begin(chosen, { outcome: next, ...(comment.trim() === "" ? {} : { comment: comment.trim() }) });
  };
  const toggle = (id: string) => {
    const next = new Set(left);
    if (!next.delete(id)) next.add(id);
    setLeft(next);
  };
  return (
    <Dialog title={`Rule on ${members.length} alike`} onClose={run.running ? run.stop : onClose} broad>
      <div className="stack">
        <p>{`The same agent, tool and reason. ${inDetail(differences)} Each gets a vote of yours of its own.`}</p>
        {differences === undefined && error !== null && <Failed error={error} retry={() => void refetch()} />}
        <ul className="plain group-members">
          {members.map((each) => (
            <Member
              key={each.escalation_id}
              escalation={each}
              differences={differences?.get(each.intent_id) ?? []}
              item={run.items.get(each.escalation_id) ?? waiting}
              chosen={!left.has(each.escalation_id)}
              fixed={begun}
              onToggle={() => toggle(each.escalation_id)}
            />
          ))}
        </ul>
        {!begun && (
          <TextArea
            label="Comment on each (kept in the audit trail)"
            maxLength={4_000}
            value={comment}
            onChange={(event) => setComment(event.target.value)}
          />
        )}
        {begun && (
          <div className="stack tight">
            <Meter share={over / Math.max(1, chosen.length)} hot={false} label={`${over} of ${chosen.length} done`} />
            <p role="status">{`${over} of ${chosen.length} done`}</p>
          </div>
        )}
        {run.held !== null && <Held error={run.held} resting={run.running} />}
        <div className="actions">
          {!begun && (
            <>
              <button type="button" className="button" onClick={onClose}>
                Cancel
              </button>
              <button
                type="button"
                className="button bad"
                disabled={chosen.length === 0}
                onClick={() => begin("block")}
              >{`Block ${chosen.length}`}</button>
              <button
                type="button"
                className="button good"
                disabled={chosen.length === 0 || differences === undefined}
                onClick={() => begin("approve")}
              >{`Approve ${chosen.length}`}</button>
            </>
          )}
          {begun && run.running && (
            <button type="button" className="button" onClick={run.stop}>
              Stop after this one
            </button>
          )}
          {begun && !run.running && !finished && (
            <button type="button" className="button primary" onClick={() => begin(outcome)}>
              Go on
            </button>
          )}
          {begun && !run.running && (
            <button type="button" className={finished ? "button primary" : "button"} onClick={onClose}>
              Close
            </button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

/** What the reader may go by; approving waits for it. */
function inDetail(differences: Differences | undefined): string {
  if (differences === undefined) return "What they differ in is not known yet; approving needs it.";
  return [...differences.values()].some((each) => each.length > 0)
    ? "What they differ in stands with each; everything else that they ask for is the same in all."
    : "They ask for exactly the same.";
}

function isOver(item: Item | undefined): boolean {
  return item?.state === "ruled" || item?.state === "refused";
}

function isClosed(item: Item | undefined): boolean {
  return item?.state === "ruled" && item.after.status !== "pending";
}

function Held({ error, resting }: { readonly error: unknown; readonly resting: boolean }) {
  const { title, todo } = adviceOn(error);
  return (
    <div className="banner warn" role="alert">
      <div>
        <strong>{title}</strong>
        {resting
          ? "It goes on by itself as soon as there is room; what is done stays done."
          : `${todo} What is done stays done, and nothing counts twice when you go on.`}
      </div>
    </div>
  );
}

const places_max = 8;

/** What sets one apart, a line each. */
function Apart({ differences }: { readonly differences: readonly Difference[] }) {
  const [all, setAll] = useState(false);
  if (differences.length === 0) return null;
  return (
    <>
      <dl className="pairs">
        {(all ? differences : differences.slice(0, places_max)).map(({ path, text }) => (
          <Fragment key={path}>
            <dt>
              <Data text={path.slice(1)} chars_max={120} more={false} />
            </dt>
            <dd className="mono">{text === null ? "—" : <Data text={text} chars_max={300} more />}</dd>
          </Fragment>
        ))}
      </dl>
      {differences.length > places_max && !all && (
        <button type="button" className="button small quiet" onClick={() => setAll(true)}>
          {`… ${differences.length - places_max} more places`}
        </button>
      )}
    </>
  );
}

function Member({
  escalation,
  differences,
  item,
  chosen,
  fixed,
  onToggle,
}: {
  readonly escalation: Escalation;
  readonly differences: readonly Difference[];
  readonly item: Item;
  readonly chosen: boolean;
  readonly fixed: boolean;
  readonly onToggle: () => void;
}) {
  const { escalation_id, action, reason, risk_score, expires_at } = escalation;
  return (
    <li className="reason">
      <label className="check">
        <input type="checkbox" checked={chosen} disabled={fixed} onChange={onToggle} />
        <span>
          <Deed type={action.type} target={action.target?.identifier} />
        </span>
      </label>
      <Data text={reason} chars_max={300} more={false} />
      {action.summary !== null && action.summary !== "" && (
        <span className="small">
          {"In the agent’s own words: "}
          <Data text={action.summary} chars_max={300} more={false} />
        </span>
      )}
      <Apart differences={differences} />
      <span className="row small muted">
        {`risk ${risk_score.toFixed(2)}`}
        <TimeLeft until={expires_at} />
        <Link to="/escalations/$escalation_id" params={{ escalation_id }} target="_blank">
          look at it
        </Link>
      </span>
      {fixed && <ItemState item={item} chosen={chosen} />}
    </li>
  );
}

function ItemState({ item, chosen }: { readonly item: Item; readonly chosen: boolean }) {
  if (!chosen) return <strong className="small">left as it is</strong>;
  switch (item.state) {
    case "waiting":
      return <span className="small muted">not yet</span>;
    case "sending":
      return <span className="small">being sent …</span>;
    case "unknown":
      return <strong className="small">no answer: it is sent again when you go on</strong>;
    case "ruled":
      return <strong className="small">{ruledText(item.after)}</strong>;
    case "refused": {
      const { title, todo } = adviceOn(item.error);
      return (
        <span className="small wrong">
          <strong>{title}.</strong> {todo}
        </span>
      );
    }
    default:
      return item satisfies never;
  }
}

function ruledText({ status, resolution, quorum }: Escalation): string {
  if (status === "pending") return `vote counted: ${quorum.approvals} of ${quorum.required} approvals`;
  return resolution?.outcome === "block" ? "blocked" : "approved";
}
