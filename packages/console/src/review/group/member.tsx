import type { Escalation } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import { adviceOn } from "../../api/advice.ts";
import { Deed } from "../../parts/records/wants.tsx";
import { InOtherHands } from "../../parts/records/who.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { TimeLeft } from "../../parts/time.tsx";
import type { Item } from "../group-run.ts";
import type { Apart } from "../what-differs.ts";

const places_max = 8;
const places_more = 200;

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

export function Member({
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
  /** The caller is among the reviewers. */
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
          <Deed action={action} />
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
          open it
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
  if (!chosen) return <strong className="small">not changed</strong>;
  switch (item.state) {
    case "waiting":
      return <span className="small muted">not yet</span>;
    case "sending":
      return <span className="small">sending …</span>;
    case "unknown":
      return <strong className="small">no answer: it is sent again when you continue</strong>;
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
