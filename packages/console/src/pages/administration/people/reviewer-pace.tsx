import type { PaceFigures, ReviewerPace } from "@countersign/contract";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useClient, useSession } from "../../../api/session.tsx";
import { OrganizationSwitch } from "../../../parts/organization-switch.tsx";
import { Who } from "../../../parts/records/who.tsx";
import { Loaded } from "../../../parts/states.tsx";
import { ListTable } from "../../../parts/tables/list-table.tsx";
import { spanText } from "../../../parts/time.tsx";

const queryKey = ["reviewer-pace"];
const windows = [
  ["last_7_days", "7 days"],
  ["last_30_days", "30 days"],
] as const;

function usePace() {
  const client = useClient();
  return useQuery({ queryKey, queryFn: () => client.getReviewerPace() });
}

/** For admins: everyone, or only totals if the organization shows the team only. */
export function ReviewerPaceCard() {
  const queries = useQueryClient();
  return (
    <section className="card stack" aria-label="Pace of reviewers">
      <h2>Pace of reviewers</h2>
      <Loaded query={usePace()} what="the pace of reviewers">
        {(pace) => <AllFigures pace={pace} />}
      </Loaded>
      <OrganizationSwitch
        label="Show the totals of all reviewers only, and no person"
        isOn={(settings) => settings.reviewer_figures === "team"}
        change={(on) => ({ reviewer_figures: on ? "team" : "person" })}
        onChanged={() => void queries.invalidateQueries({ queryKey })}
      />
    </section>
  );
}

function AllFigures({ pace: { team, people, is_complete } }: { readonly pace: ReviewerPace }) {
  return (
    <>
      <FiguresTable caption="Figures of reviewers">
        {team !== null && <Rows who={<strong>All reviewers</strong>} figures={team} />}
        {people.map((each) => (
          <Rows key={each.person} who={<Who id={each.person} />} figures={each} />
        ))}
      </FiguresTable>
      <p className="small muted">Fast: approvals that were quicker than the rules of a membrane or a policy want.</p>
      {!is_complete && <p className="small muted">Only the newest rulings are counted.</p>}
    </>
  );
}

/** One's own figures; nothing if the organization shows the team only. */
export function OwnPaceCard() {
  return (
    <section className="card stack" aria-label="Your reviews">
      <h2>Your reviews</h2>
      <OwnPace />
    </section>
  );
}

function OwnPace() {
  const { caller } = useSession();
  return (
    <Loaded query={usePace()} what="your pace">
      {({ level, people }) => {
        if (level === "team") return <p className="muted">Your organization shows the figures of the team only.</p>;
        const own = people.find(({ person }) => person === caller?.person);
        if (own === undefined) return <p className="muted">You decided nothing in the last 30 days.</p>;
        return (
          <FiguresTable caption="Your pace">
            <Rows who="You" figures={own} />
          </FiguresTable>
        );
      }}
    </Loaded>
  );
}

function FiguresTable({ caption, children }: { readonly caption: string; readonly children: React.ReactNode }) {
  return (
    <ListTable heads={["Reviewer", "Last", "Rulings", "Approved", "Fast", "Median time"]} numbers={4} caption={caption}>
      {children}
    </ListTable>
  );
}

function Rows({
  who,
  figures,
}: {
  readonly who: React.ReactNode;
  readonly figures: Readonly<Record<"last_7_days" | "last_30_days", PaceFigures>>;
}) {
  return windows.map(([key, name]) => {
    const { rulings, fast, approval_share, median_seconds } = figures[key];
    return (
      <tr key={key}>
        <td>{who}</td>
        <td>{name}</td>
        <td className="num">{rulings}</td>
        <td className="num">{approval_share === null ? "–" : `${Math.round(approval_share * 100)} %`}</td>
        <td className="num">{fast}</td>
        <td className="num">{median_seconds === null ? "–" : spanText(median_seconds)}</td>
      </tr>
    );
  });
}
