/** One ruling on several near-identical escalations: which, how far it is, and what became of each. */
import { type Escalation, limits } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { Fragment, useEffect, useRef, useState } from "react";
import { adviceOn } from "../api/advice.ts";
import { useDraft } from "../api/draft.ts";
import { focusIsLost } from "../browser/focus.ts";
import { Dialog } from "../parts/forms/dialog.tsx";
import { TextArea } from "../parts/forms/field.tsx";
import { Meter } from "../parts/records/decision-parts.tsx";
import { Deed } from "../parts/records/wants.tsx";
import { InOtherHands, useInHands } from "../parts/records/who.tsx";
import { Failed } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { TimeLeft } from "../parts/time.tsx";
import { type Group, useDifferences } from "./escalation-data.ts";
import { type Item, useGroupRun, waiting } from "./group-run.ts";
import type { Apart } from "./what-differs.ts";

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
  const { data: compared, error, refetch } = useDifferences(members);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [comment, setComment, dropComment] = useDraft(`comment.${key}`);
  const onClose = () => {
    dropComment();
    close(members.map(({ escalation_id }) => escalation_id).filter((id) => isClosed(run.items.get(id))));
  };
  const [outcome, setOutcome] = useState<GroupOutcome | null>(null);
  const inHands = useInHands();
  const chosen = members
    .filter((each) => inHands(each) && !left.has(each.escalation_id))
    .map(({ escalation_id }) => escalation_id);
  const over = chosen.filter((id) => isOver(run.items.get(id))).length;
  const begun = outcome !== null;
  const finished = begun && over === chosen.length;

  const progress = useRef<HTMLParagraphElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the buttons go with what they began, and one of them had the focus
  useEffect(() => {
    if (begun && focusIsLost()) progress.current?.focus({ preventScroll: true });
  }, [begun, run.running]);

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
        <p aria-live="polite">{`The same agent, tool and reason. ${inDetail(compared)} Each gets a vote of yours of its own.`}</p>
        {compared === undefined && error !== null && <Failed error={error} retry={() => void refetch()} />}
        <ul className="plain group-members">
          {members.map((each) => (
            <Member
              key={each.escalation_id}
              escalation={each}
              apart={compared?.differences.get(each.intent_id)}
              item={run.items.get(each.escalation_id) ?? waiting}
              chosen={chosen.includes(each.escalation_id)}
              mine={inHands(each)}
              fixed={begun}
              onToggle={() => toggle(each.escalation_id)}
            />
          ))}
        </ul>
        {!begun && (
          <TextArea
            label="Comment on each (kept in the audit trail)"
            maxLength={limits.comment_chars_max}
            value={comment}
            onChange={(event) => setComment(event.target.value)}
          />
        )}
        {begun && (
          <div className="stack tight">
            <Meter share={over / Math.max(1, chosen.length)} hot={false} label={`${over} of ${chosen.length} done`} />
            <p role="status" tabIndex={-1} ref={progress}>{`${over} of ${chosen.length} done`}</p>
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
                disabled={chosen.length === 0 || compared === undefined}
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
function inDetail(compared: ReturnType<typeof useDifferences>["data"]): string {
  if (compared === undefined) return "What they differ in is not known yet; approving needs it.";
  const { differences, withheld, changed } = compared;
  const differ = [...differences.values()].some(({ places }) => places.length > 0);
  const let_through = changed
    ? " Rules change what is let through, each as they were at its time: see its own page."
    : "";
  if (withheld)
    return `${differ ? "What they differ in stands with each, as far as it may be shown" : "What may be shown of them is exactly the same"}. What a rule withholds is not compared: there they may differ.${let_through}`;
  return `${
    differ
      ? "What they differ in stands with each; everything else that they ask for is the same in all."
      : "They ask for exactly the same."
  }${let_through}`;
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
const places_more = 200;

/** What sets one apart, a line each. */
function ApartFrom({ apart: { places, elsewhere } }: { readonly apart: Apart }) {
  const [shown, setShown] = useState(places_max);
  if (places.length === 0) return null;
  const more = places.length - shown;
  return (
    <>
      <dl className="pairs">
        {places.slice(0, shown).map(({ path, text }) => (
          <Fragment key={path}>
            <dt>
              <Data text={path.slice(1)} chars_max={120} more={false} />
            </dt>
            <dd className="mono">{text === null ? "—" : <Data text={text} chars_max={300} more />}</dd>
          </Fragment>
        ))}
      </dl>
      {more > 0 && (
        <button type="button" className="button small quiet" onClick={() => setShown(shown + places_more)}>
          {`… ${(more + elsewhere).toLocaleString("en")} more places`}
        </button>
      )}
      {more <= 0 && elsewhere > 0 && (
        <p className="small muted">{`… ${elsewhere.toLocaleString("en")} more places that only others have`}</p>
      )}
    </>
  );
}

function Member({
  escalation,
  apart,
  item,
  chosen,
  mine,
  fixed,
  onToggle,
}: {
  readonly escalation: Escalation;
  readonly apart: Apart | undefined;
  readonly item: Item;
  readonly chosen: boolean;
  /** The caller is among those who decide on it. */
  readonly mine: boolean;
  readonly fixed: boolean;
  readonly onToggle: () => void;
}) {
  const { escalation_id, action, reason, risk_score, expires_at } = escalation;
  return (
    <li className="reason">
      <label className="check">
        <input type="checkbox" checked={chosen} disabled={fixed || !mine} onChange={onToggle} />
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
      {apart !== undefined && <ApartFrom apart={apart} />}
      <span className="row small muted">
        {`risk ${risk_score.toFixed(2)}`}
        <TimeLeft until={expires_at} />
        <Link to="/escalations/$escalation_id" params={{ escalation_id }} target="_blank">
          look at it
        </Link>
      </span>
      {!mine && (
        <span className="small">
          <InOtherHands reviewers={escalation.reviewers} /> It is left out.
        </span>
      )}
      {fixed && mine && <ItemState item={item} chosen={chosen} />}
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
