import type { Usage } from "@countersign/contract";
import { Meter } from "./records/decision-parts.tsx";

/** People are warned from this share of the limit on. */
export const near_share = 0.9;

type Standing = "roomy" | "near" | "reached";

function standingOf({ used_actions, hard_limit }: Usage): Standing {
  if (hard_limit === null) return "roomy";
  if (used_actions >= hard_limit) return "reached";
  return used_actions >= hard_limit * near_share ? "near" : "roomy";
}

const number = (count: number) => count.toLocaleString("en");

/** Shows nothing on an unlimited plan. */
export function QuotaMeter({ usage }: { readonly usage: Usage }) {
  const { used_actions, hard_limit } = usage;
  if (hard_limit === null) return null;
  const standing = standingOf(usage);
  const left = hard_limit - used_actions;
  return (
    <>
      <Meter
        share={used_actions / Math.max(1, hard_limit)}
        hot={standing !== "roomy"}
        label={`${used_actions} of ${hard_limit} used`}
      />
      {standing === "near" && (
        <div className="banner warn" role="status">
          <div>
            <strong>{`Near the limit: ${left === 1 ? "one live decision is" : `${number(left)} live decisions are`} left this month`}</strong>
            After that, the service refuses new intents. Ask the operator of this service for a larger plan in time.
          </div>
        </div>
      )}
      {standing === "reached" && (
        <div className="banner bad" role="status">
          <div>
            <strong>The limit is reached: the service refuses new intents</strong>
            Ask the operator of this service for a larger plan, or wait for the next period.
          </div>
        </div>
      )}
    </>
  );
}
