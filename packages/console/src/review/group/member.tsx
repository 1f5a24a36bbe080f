import type { Escalation } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import { adviceOn } from "../../api/advice.ts";
import { Deed } from "../../parts/records/wants.tsx";
import { InOtherHands } from "../../parts/records/who.tsx";
import { Data, Given } from "../../parts/tables/data.tsx";
import { TimeLeft } from "../../parts/time.tsx";
import type { Item } from "../group-run.ts";
import { confirmOf } from "../ruling/confirmed-vote.ts";
import type { Apart } from "../what-differs.ts";
import { beside, type Column, valueAt } from "./columns.ts";

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

/** A row of the group's table. */
export function Member({
  escalation,
  apart,
  columns,
  agent,
  item,
  chosen,
  mine,
  fixed,
  onToggle,
}: {
  readonly escalation: Escalation;
  readonly apart: Apart | undefined;
  readonly columns: readonly Column[];
  /** The members have different agents. */
  readonly agent: boolean;
  readonly item: Item;
  readonly chosen: boolean;
  /** The caller is among the reviewers. */
  readonly mine: boolean;
  readonly fixed: boolean;
  readonly onToggle: () => void;
}) {
  const { escalation_id, intent_id, action, agent_id, expires_at } = escalation;
  const is_confirmed = confirmOf(escalation) !== null;
  return (
    <tr>
      <td>
        <label className="check">
          <input type="checkbox" checked={chosen} disabled={fixed || !mine || is_confirmed} onChange={onToggle} />
          <span>
            {agent && (
              <>
                <Given text={agent_id} chars_max={60} more={false} />
                {": "}
              </>
            )}
            <Deed action={action} />
          </span>
        </label>
        <Told escalation={escalation} apart={apart} columns={columns} />
        {!mine && (
          <p className="small">
            <InOtherHands reviewers={escalation.reviewers} /> It is left out.
          </p>
        )}
        {mine && is_confirmed && (
          <p className="small">It needs a confirmation of its own: open it to decide. It is left out.</p>
        )}
        {fixed && mine && !is_confirmed && (
          <p>
            <ItemState item={item} chosen={chosen} />
          </p>
        )}
      </td>
      {columns.map(({ path, outliers }) => (
        <Cell key={path} text={apart === undefined ? null : valueAt(apart, path)} why={outliers.get(intent_id)} />
      ))}
      <td className="small muted">
        <TimeLeft until={expires_at} />
        <br />
        <Link to="/escalations/$escalation_id" params={{ escalation_id }} target="_blank">
          open it
        </Link>
      </td>
    </tr>
  );
}

/** The reason, the agent's words, and the differences that have no column or are outside of a narrow screen. */
function Told({
  escalation: { intent_id, action, reason },
  apart,
  columns,
}: {
  readonly escalation: Escalation;
  readonly apart: Apart | undefined;
  readonly columns: readonly Column[];
}) {
  return (
    <>
      <span className="small">
        <Data text={reason} chars_max={300} more={false} />
      </span>
      {action.summary !== null && action.summary !== "" && (
        <p className="small">
          {"In the agent’s own words: "}
          <Data text={action.summary} chars_max={300} more={false} />
        </p>
      )}
      {columns.map(({ path, name, outliers }) =>
        outliers.has(intent_id) ? (
          <p key={path} className="small outlier on-narrow">
            <Data text={name} chars_max={40} more={false} />
            {`: ${outliers.get(intent_id)}`}
          </p>
        ) : null,
      )}
      {apart !== undefined && <ApartFrom apart={beside(apart, columns)} />}
    </>
  );
}

function Cell({ text, why }: { readonly text: string | null; readonly why: string | undefined }) {
  return (
    <td className={why === undefined ? "mono small" : "mono small outlier"}>
      {text === null ? "—" : <Data text={text} chars_max={300} more />}
      {why !== undefined && <strong className="why">{why}</strong>}
    </td>
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
