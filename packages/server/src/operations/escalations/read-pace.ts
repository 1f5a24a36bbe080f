import { type PaceFigures, type ReviewerPace, roleMeets } from "@countersign/contract";
import { type CountedRulings, readPaceFigures } from "../../store/escalations/pace-figures.ts";
import { readOrganizationSettings } from "../../store/organizations/organizations.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/**
 * Returns how fast reviewers rule and how much they approve. Admins see everyone, others themselves. With team-only
 * figures, everyone sees totals only.
 */
export function readPace(
  runtime: Pick<Runtime, "db">,
  { org_id, role, lineage_id }: Pick<Caller, "org_id" | "role" | "lineage_id">,
): Promise<ReviewerPace> {
  return runtime.db.tenant(org_id, async (query) => {
    const { reviewer_figures: level } = await readOrganizationSettings(query, org_id);
    const sees_all = roleMeets(role, ["admin"]) || level === "team";
    const only = sees_all ? null : (await identityOf(query, org_id, lineage_id)).person;
    const as_of = await databaseNow(query);
    const { team, people, is_complete } = await readPaceFigures(query, org_id, as_of, only);
    return {
      ...{ level, org_id, as_of, is_complete },
      team: sees_all ? windowsOf(team) : null,
      people:
        level === "team"
          ? []
          : people.map(({ person, email, ...counted }) => ({ person, email, ...windowsOf(counted) })),
    };
  });
}

function windowsOf({ week, month }: CountedRulings) {
  return { last_7_days: figuresOf(week), last_30_days: figuresOf(month) };
}

function figuresOf({ rulings, approvals, fast, median_seconds }: CountedRulings["week"]): PaceFigures {
  const approval_share = rulings === 0 ? null : approvals / rulings;
  return { rulings, approvals, fast, approval_share, median_seconds };
}
