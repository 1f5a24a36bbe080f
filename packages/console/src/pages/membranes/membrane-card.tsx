import type { Membrane, RequestedMove } from "@countersign/contract";
import { useState } from "react";
import { useMay } from "../../api/session.tsx";
import { KnownTools } from "../../parts/forms/known-tools.tsx";
import { Badge } from "../../parts/records/badge.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { spanText } from "../../parts/time.tsx";
import { Uncovered } from "../../parts/uncovered.tsx";
import { confirmText, paceText } from "../../review/detail/pace-text.ts";
import { isRequested, MoveDialog, Requested } from "./move-dialog.tsx";
import { Readiness } from "./readiness.tsx";
import { RolloutPanel } from "./rollout.tsx";
import { ShadowReport } from "./shadow-report.tsx";

export function MembraneCard({ membrane, onEdit }: { readonly membrane: Membrane; readonly onEdit: () => void }) {
  const may = useMay("admin");
  /** Kept for the open dialog if someone else changes the membrane. */
  const [asked, setAsked] = useState<RequestedMove["to"] | null>(null);
  const live = membrane.status === "live";
  return (
    <section className="card stack" aria-label={membrane.name}>
      <div className="row between">
        <span className="row">
          <h2>
            <Data text={membrane.name} />
          </h2>
          <Badge text={membrane.status} tone={live ? "live" : "shadow"} />
          {membrane.is_default && <span className="small muted">used unless a key names another one</span>}
        </span>
        {may && (
          <span className="row">
            <button type="button" className="button small" onClick={onEdit}>
              Change
            </button>
            <button
              type="button"
              className={live ? "button small bad" : "button small primary"}
              onClick={() => setAsked(live ? "shadow" : "live")}
            >
              {`${isRequested(membrane) ? "Confirm: " : ""}${live ? "Return to shadow" : "Go live"}`}
            </button>
          </span>
        )}
      </div>
      <Requested membrane={membrane} />
      <RolloutPanel membrane={membrane} />
      {!live && <Readiness membrane={membrane} />}
      <Settings membrane={membrane} />
      {!live && <ShadowReport membrane={membrane} />}
      <Uncovered membrane={membrane} />
      {asked !== null && <MoveDialog membrane={membrane} to={asked} onClose={() => setAsked(null)} />}
    </section>
  );
}

const share = (value: number | null) => (value === null ? "never" : `from risk ${value}`);

/** The membrane blocks from `block_at` on, so a higher `escalate_at` has no effect. */
function reviewShare({ escalate_at, block_at }: Membrane["thresholds"]): string {
  if (escalate_at === null || block_at === null || escalate_at < block_at) return share(escalate_at);
  return `never: risk ${block_at} blocks before risk ${escalate_at} would escalate`;
}

function assuranceText(facts_from: Membrane["facts_from"]): string {
  const asked = Object.entries(facts_from).map(([path, assurance]) => `${path}: at least ${assurance}`);
  return asked.length === 0 ? "from any source" : asked.join(", ");
}

function Settings({ membrane }: { readonly membrane: Membrane }) {
  const { quorum, timeout_seconds, on_timeout, pace, confirm } = membrane.escalation;
  return (
    <dl className="pairs">
      <dt>When no rule fires</dt>
      <dd>{membrane.default_verdict}</dd>
      <dt>Review by risk alone</dt>
      <dd>{reviewShare(membrane.thresholds)}</dd>
      <dt>Block by risk alone</dt>
      <dd>{share(membrane.thresholds.block_at)}</dd>
      <dt>Packs</dt>
      <dd>{membrane.packs.length === 0 ? "none" : <Data text={membrane.packs.join(", ")} />}</dd>
      {membrane.rules_off.length > 0 && (
        <>
          <dt>Rules that are off</dt>
          <dd>
            <Data text={membrane.rules_off.join(", ")} />
          </dd>
        </>
      )}
      <dt>Facts must be</dt>
      <dd>{assuranceText(membrane.facts_from)}</dd>
      <dt>Reviews</dt>
      <dd>
        {`${quorum} approval${quorum === 1 ? "" : "s"} within ${spanText(timeout_seconds)}, else ${on_timeout === "block" ? "blocked" : "approved"}`}
        {pace == null ? "" : `. ${paceText(pace)}`}
        {confirm == null ? "" : `. ${confirmText(confirm)}`}
      </dd>
      <dt>Known tools</dt>
      <dd>
        <KnownTools membrane={membrane} />
      </dd>
      <dt>Id</dt>
      <dd className="mono small">{membrane.membrane_id}</dd>
    </dl>
  );
}
