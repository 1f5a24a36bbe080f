import type { Escalation } from "@countersign/contract";
import { Badge } from "../../parts/records/badge.tsx";
import { Reviewers } from "../../parts/records/who.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Time } from "../../parts/time.tsx";
import { confirmText, paceText } from "./pace-text.ts";

type Panel = Escalation["panels"][number];

const tones = { met: "approve", open: "escalate", waiting: "plain" } as const;

export function Panels({ panels }: { readonly panels: readonly Panel[] }) {
  return (
    <ul className="stack tight" aria-label="Who must approve">
      {panels.map((panel) => (
        <li key={`${panel.policy_id} ${panel.policy}`} className="reason">
          <span className="row">
            <Badge text={panel.status} tone={tones[panel.status]} />
            <PanelName panel={panel} />
          </span>
          <span className="small">
            {`${panel.approvals} of ${panel.required} approvals by `}
            <Reviewers reviewers={panel.reviewers} />.{panel.tier !== undefined && <Tier tier={panel.tier} />}
            {panel.pace !== undefined && ` ${paceText(panel.pace)}`}
            {panel.confirm !== undefined && ` ${confirmText(panel.confirm)}`}
            {panel.status === "waiting" && panel.after !== null && (
              <>
                {" Its turn comes after "}
                <Data text={panel.after} />.
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Tier({ tier }: { readonly tier: NonNullable<Panel["tier"]> }) {
  return (
    <>
      {" If it is not met, also by "}
      <Reviewers reviewers={tier.reviewers} />
      {" ("}
      <Time at={tier.opens_at} />
      ).
    </>
  );
}

function PanelName({ panel: { source, policy } }: { readonly panel: Panel }) {
  if (source === "membrane") return <strong>The membrane</strong>;
  if (source === "reassignment") return <strong>Handed over by an operator</strong>;
  return (
    <strong>
      {"Rule "}
      <Data text={policy} />
    </strong>
  );
}
