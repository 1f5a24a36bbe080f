import type { Escalation } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import type { MouseEvent, Ref } from "react";
import { ModeBadge, SelfReviewed, StatusBadge } from "../../parts/records/badge.tsx";
import { Empty } from "../../parts/states.tsx";
import { Paged } from "../../parts/tables/paged.tsx";
import { Time, TimeLeft } from "../../parts/time.tsx";
import { CaseLine } from "../../review/case.tsx";
import type { Group } from "../../review/escalation-data.ts";
import type { ChosenCase } from "./chosen-case.ts";
import type { Queue } from "./queue.ts";

export function Cases({
  queue,
  current,
  onRule,
  ref,
}: {
  readonly queue: Queue;
  readonly current: ChosenCase;
  /** Null: nothing to decide for this caller or in this list. */
  readonly onRule: ((group: Group) => void) | null;
  readonly ref: Ref<HTMLElement>;
}) {
  const onChoose: Choose = (id, event) => {
    // A narrow screen has no room beside the list, so the link opens the case's page.
    if (!matchMedia("(min-width: 1081px)").matches || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    // A click without a pointer comes from the keyboard.
    (event.detail === 0 ? current.call : current.choose)(id);
  };
  return (
    <section className="waiting" aria-label="Cases" tabIndex={-1} ref={ref}>
      <Paged list={queue.list} what="escalations" empty={<NoCases status={queue.status} />}>
        {() => (
          <nav className="entries" aria-label="Escalations">
            {queue.groups.map((group) => (
              <GroupEntries
                key={group.key}
                group={group}
                open={queue.opened.has(group.key)}
                chosen={current.chosen}
                onToggle={() => queue.toggle(group.key)}
                onRule={onRule === null ? null : () => onRule(group)}
                onChoose={onChoose}
              />
            ))}
          </nav>
        )}
      </Paged>
    </section>
  );
}

function NoCases({ status }: { readonly status: string }) {
  return (
    <section className="card">
      <Empty title={status === "pending" ? "Nothing waits" : "None found"}>
        <p>
          {status === "pending"
            ? "When a rule escalates an action, it appears here until someone decides or its time is over."
            : "No escalation matches these filters."}
        </p>
      </Empty>
    </section>
  );
}

type Choose = (id: string, event: MouseEvent) => void;

function GroupEntries({
  group: { members },
  open,
  chosen,
  onToggle,
  onRule,
  onChoose,
}: {
  readonly group: Group;
  readonly open: boolean;
  readonly chosen: string | undefined;
  readonly onToggle: () => void;
  /** Null: nothing to decide for this caller or in this list. */
  readonly onRule: (() => void) | null;
  readonly onChoose: Choose;
}) {
  const [first, ...others] = members;
  if (first === undefined) return null;
  return (
    <div>
      <Entry escalation={first} chosen={chosen} onChoose={onChoose} />
      {others.length > 0 && (
        <div className="group-acts">
          <button type="button" className="button small quiet" aria-expanded={open} onClick={onToggle}>
            {open ? "Hide similar ones" : `and ${others.length} similar`}
          </button>
          {onRule !== null && (
            <button type="button" className="button small quiet" onClick={onRule}>
              {`Rule on all ${members.length}`}
            </button>
          )}
        </div>
      )}
      {open &&
        others.map((each) => (
          <Entry key={each.escalation_id} escalation={each} chosen={chosen} onChoose={onChoose} nested />
        ))}
    </div>
  );
}

function Entry({
  escalation,
  chosen,
  onChoose,
  nested = false,
}: {
  readonly escalation: Escalation;
  readonly chosen: string | undefined;
  readonly onChoose: Choose;
  readonly nested?: boolean;
}) {
  const { escalation_id, status, quorum } = escalation;
  return (
    <Link
      id={`entry-${escalation_id}`}
      className={nested ? "entry nested" : "entry"}
      to="/escalations/$escalation_id"
      params={{ escalation_id }}
      activeProps={{}}
      aria-current={escalation_id === chosen ? "true" : undefined}
      onClick={(event) => onChoose(escalation_id, event)}
    >
      <span className="what">
        <CaseLine escalation={escalation} />
      </span>
      <span className="meta">
        {status === "pending" ? <TimeLeft until={escalation.expires_at} /> : <StatusBadge escalation={escalation} />}
        <SelfReviewed escalation={escalation} />
        <ModeBadge mode={escalation.pipeline_mode} />
        <span>{`risk ${escalation.risk_score.toFixed(2)}`}</span>
        {status === "pending" && quorum.required > 1 && (
          <span>{`${quorum.approvals} of ${quorum.required} approvals`}</span>
        )}
        {(escalation.equal_pending ?? 1) > 1 && <span>{`asked ${escalation.equal_pending} times`}</span>}
        <Time at={escalation.created_at} />
      </span>
    </Link>
  );
}
