import type { Escalation } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import type { MouseEvent, Ref } from "react";
import { moneyText } from "../../parts/money.ts";
import { ModeBadge, SelfReviewed, StatusBadge } from "../../parts/records/badge.tsx";
import { Who } from "../../parts/records/who.tsx";
import { Empty } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Paged } from "../../parts/tables/paged.tsx";
import { Time, TimeLeft } from "../../parts/time.tsx";
import { visibleText } from "../../parts/visible-text.ts";
import { CaseLine } from "../../review/case.tsx";
import { type Group, sumOf } from "../../review/escalation-data.ts";
import type { ChosenCase } from "./chosen-case.ts";
import type { Queue } from "./queue.ts";
import type { Selection } from "./selection.ts";

export function Cases({
  queue,
  current,
  selection,
  filtered,
  onReset,
  onRule,
  ref,
}: {
  readonly queue: Queue;
  readonly current: ChosenCase;
  /** Null: nothing to decide for this caller or in this list. */
  readonly selection: Selection | null;
  readonly filtered: boolean;
  readonly onReset: () => void;
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
      <Paged
        list={queue.list}
        what="escalations"
        empty={<NoCases status={queue.status} onReset={filtered ? onReset : null} />}
      >
        {() => (
          <nav className="entries" aria-label="Escalations">
            {queue.groups.map((group) => (
              <GroupEntries
                key={group.key}
                group={group}
                open={queue.opened.has(group.key)}
                chosen={current.chosen}
                selection={selection}
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

function NoCases({ status, onReset }: { readonly status: string; readonly onReset: (() => void) | null }) {
  return (
    <section className="card">
      <Empty title={status === "pending" && onReset === null ? "Nothing waits" : "None found"}>
        <p>
          {status === "pending" && onReset === null
            ? "When a rule escalates an action, it appears here until someone decides or its time is over."
            : "No escalation matches these filters."}
        </p>
        {onReset === null ? (
          <Link to="/policies" className="button">
            Which rules escalate
          </Link>
        ) : (
          <button type="button" className="button" onClick={onReset}>
            Remove the filters
          </button>
        )}
      </Empty>
    </section>
  );
}

type Choose = (id: string, event: MouseEvent) => void;

function GroupEntries({
  group,
  open,
  chosen,
  selection,
  onToggle,
  onRule,
  onChoose,
}: {
  readonly group: Group;
  readonly open: boolean;
  readonly chosen: string | undefined;
  readonly selection: Selection | null;
  readonly onToggle: () => void;
  /** Null: nothing to decide for this caller or in this list. */
  readonly onRule: (() => void) | null;
  readonly onChoose: Choose;
}) {
  const { members, by } = group;
  const [first, ...others] = members;
  if (first === undefined) return null;
  const sum = sumOf(members);
  return (
    <div>
      <Entry
        escalation={first}
        chosen={chosen}
        // A closed group stands for all its members.
        picks={open ? { members: [first] } : group}
        selection={selection}
        onChoose={onChoose}
      />
      {others.length > 0 && (
        <div className="group-acts">
          <button type="button" className="button small quiet" aria-expanded={open} onClick={onToggle}>
            {open ? "Hide similar ones" : `and ${others.length} ${by === "cause" ? "with this cause" : "similar"}`}
          </button>
          {onRule !== null && (
            <button type="button" className="button small quiet" onClick={onRule}>
              {`Rule on all ${members.length}`}
            </button>
          )}
          {sum !== null && <span className="small muted in-all">{`${moneyText(sum)} in all`}</span>}
        </div>
      )}
      {open &&
        others.map((each) => (
          <Entry
            key={each.escalation_id}
            escalation={each}
            chosen={chosen}
            picks={{ members: [each] }}
            selection={selection}
            onChoose={onChoose}
            nested
          />
        ))}
    </div>
  );
}

function Entry({
  escalation,
  chosen,
  picks,
  selection,
  onChoose,
  nested = false,
}: {
  readonly escalation: Escalation;
  readonly chosen: string | undefined;
  /** The checkbox selects these reviews. */
  readonly picks: Pick<Group, "members">;
  readonly selection: Selection | null;
  readonly onChoose: Choose;
  readonly nested?: boolean;
}) {
  const { escalation_id, status, agent_id, action, amount_usd } = escalation;
  const many = picks.members.length > 1 ? `${picks.members.length} similar ones: ` : "";
  return (
    <div className={nested ? "entry-row nested" : "entry-row"} aria-current={escalation_id === chosen || undefined}>
      {selection !== null && (
        <input
          type="checkbox"
          aria-label={visibleText(`Select ${many}${agent_id}, ${action.target?.identifier ?? action.verb}`)}
          ref={(box) => {
            if (box !== null) box.indeterminate = selection.hasSome(picks);
          }}
          checked={selection.has(picks)}
          onChange={() => selection.toggle(picks)}
        />
      )}
      <Link
        id={`entry-${escalation_id}`}
        className="entry"
        title={visibleText(`${agent_id}: ${action.verb} ${action.target?.identifier ?? ""}`)}
        to="/escalations/$escalation_id"
        params={{ escalation_id }}
        activeProps={{}}
        aria-current={escalation_id === chosen ? "true" : undefined}
        onClick={(event) => onChoose(escalation_id, event)}
      >
        <span className="what">
          <CaseLine escalation={escalation} />
        </span>
        {amount_usd !== undefined && <span className="amount">{moneyText(amount_usd)}</span>}
        <span className="left">
          {status === "pending" ? <TimeLeft until={escalation.expires_at} /> : <StatusBadge escalation={escalation} />}
        </span>
        <EntryMeta escalation={escalation} />
      </Link>
    </div>
  );
}

function EntryMeta({ escalation }: { readonly escalation: Escalation }) {
  const { status, quorum, panels, taken, equal_pending = 1, missing_facts = [], uncovered } = escalation;
  const [panel, ...further] = panels;
  const open = status === "pending";
  return (
    <span className="meta">
      {uncovered ? (
        <span>no rule covers this tool</span>
      ) : (
        panel !== undefined && (
          <span>
            <Data text={panel.source === "membrane" ? "the membrane" : panel.policy} chars_max={60} more={false} />
            {further.length > 0 && ` and ${further.length} more`}
          </span>
        )
      )}
      {open && missing_facts[0] !== undefined && (
        <span>
          {"needs "}
          <Data text={missing_facts[0].replace(/^facts\./, "")} chars_max={60} more={false} />
        </span>
      )}
      <SelfReviewed escalation={escalation} />
      <ModeBadge mode={escalation.pipeline_mode} />
      {open && quorum.required > 1 && <span>{`${quorum.approvals} of ${quorum.required} approvals`}</span>}
      {taken !== undefined && (
        <span>
          {"taken by "}
          <Who id={taken.by} />
        </span>
      )}
      {equal_pending > 1 && <span>{`asked ${equal_pending} times`}</span>}
      <Time at={escalation.created_at} />
    </span>
  );
}
