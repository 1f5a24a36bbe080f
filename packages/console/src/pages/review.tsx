/** The review queue. */
import { type Escalation, limits } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useClient, useMay, useSession } from "../api/session.tsx";
import { focusIsLost } from "../browser/focus.ts";
import { FilterField, SelectField } from "../parts/forms/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ModeBadge, StatusBadge } from "../parts/records/badge.tsx";
import { ShadowBanner } from "../parts/shadow-banner.tsx";
import { Empty } from "../parts/states.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { Time, TimeLeft } from "../parts/time.tsx";
import { CaseLine } from "../review/case.tsx";
import { type Group, groupsOf, queue_key } from "../review/escalation-data.ts";
import { EscalationDetail } from "../review/escalation-detail.tsx";
import { GroupRuling } from "../review/group-ruling.tsx";
import { ShortcutHelp, useKeys } from "../review/shortcuts.tsx";
import { parseSearch, useFilters } from "../shell/filters.ts";

const watch_ms = 3_000;

export function ReviewPage() {
  const client = useClient();
  const { caller } = useSession();
  const [filters, setFilters] = useFilters(["status", "agent_id", "reviewer", "mode", "case"]);
  const [help, setHelp] = useState(false);
  const [alike, setAlike] = useState<Group | null>(null);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  /** The case that the keyboard went to last. */
  const [called, setCalled] = useState<string>();
  /** What was ruled on here last: the list may still have it. */
  const [ruled, setRuled] = useState<readonly string[]>([]);
  const status = filters.status ?? "pending";
  const rules = useMay("reviewer") && status === "pending";
  const asked = {
    ...(status === "all" ? {} : { status: status as Escalation["status"] }),
    // Open ones: whose time is over soonest comes first.
    ...(status === "pending" ? { order: "expires_at" as const } : {}),
    ...(filters.agent_id ? { agent_id: filters.agent_id } : {}),
    ...(filters.reviewer ? { reviewer: filters.reviewer } : {}),
    ...(filters.mode ? { mode: filters.mode as Escalation["pipeline_mode"] } : {}),
  };
  const list = usePaged(
    [...queue_key, asked],
    async (cursor) => {
      const page = await client.listEscalations({ ...asked, limit: 100, ...(cursor === undefined ? {} : { cursor }) });
      return { rows: page.escalations, next_cursor: page.next_cursor };
    },
    { refetchInterval: watch_ms, joins: true },
  );
  const groups = useMemo(() => groupsOf(list.rows), [list.rows]);
  const visible = groups.flatMap(({ key, members }) => (opened.has(key) ? members : members.slice(0, 1)));
  const chosen = filters.case;
  const choose = useCallback((id: string | undefined) => setFilters({ case: id ?? "" }), [setFilters]);
  const first = visible.find(({ escalation_id }) => !ruled.includes(escalation_id))?.escalation_id;
  useEffect(() => {
    // Once shown it stays until somebody chooses another, whatever arrives before it or closes it meanwhile.
    if (chosen === undefined && first !== undefined && location.pathname === "/review") choose(first);
  }, [chosen, first, choose]);
  const call = (id: string | undefined) => {
    setCalled(id);
    choose(id);
  };
  const move = (step: number) => {
    const at = visible.findIndex((each) => each.escalation_id === chosen);
    const next = visible[Math.max(0, Math.min(visible.length - 1, at + step))];
    if (next !== undefined) call(next.escalation_id);
  };
  const ruleOn = (group: Group) => {
    if (group.members.length > 1) setAlike(group);
  };
  const chosenGroup = groups.find(({ members }) => members.some((each) => each.escalation_id === chosen));
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    "?": () => setHelp(true),
    ...(rules && chosenGroup !== undefined ? { g: () => ruleOn(chosenGroup) } : {}),
  });
  const list_place = useRef<HTMLElement>(null);
  useEffect(() => {
    // Of the last case, what had the focus went with it.
    if (chosen === undefined && ruled.length > 0 && focusIsLost()) list_place.current?.focus({ preventScroll: true });
  }, [chosen, ruled]);
  /** A group was ruled on that the case on the screen is not of: the button that began it goes with the group. */
  const group_gone = useRef(false);
  useEffect(() => {
    if (alike === null && group_gone.current) list_place.current?.focus({ preventScroll: true });
    group_gone.current = false;
  }, [alike]);
  useEffect(() => {
    document.getElementById(`entry-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const onDone = (after: Escalation) => {
    // The answer may come when another case, or another page, is looked at.
    if (after.status === "pending" || parseSearch(location.search)["case"] !== after.escalation_id) return;
    setRuled([after.escalation_id]);
    const at = visible.findIndex((each) => each.escalation_id === after.escalation_id);
    call((visible[at + 1] ?? visible[at - 1])?.escalation_id);
  };
  const onGroupDone = (closed: readonly string[]) => {
    setAlike(null);
    setRuled(closed);
    if (chosen !== undefined && closed.includes(chosen))
      call(visible.find(({ escalation_id }) => !closed.includes(escalation_id))?.escalation_id);
    else group_gone.current = closed.length > 0;
  };
  const toggle = (key: string) => {
    const next = new Set(opened);
    if (!next.delete(key)) next.add(key);
    setOpened(next);
  };
  return (
    <>
      <PageHead title="Review queue" about="Actions that wait for a person. New ones appear by themselves.">
        <button type="button" className="button small" onClick={() => setHelp(true)}>
          Keyboard <kbd>?</kbd>
        </button>
      </PageHead>
      <ShadowBanner where="queue" />
      <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <SelectField
          label="Status"
          value={status}
          onChange={(event) =>
            setFilters({ status: event.target.value === "pending" ? "" : event.target.value, case: "" })
          }
          options={[
            ["pending", "Waiting"],
            ["decided", "Decided"],
            ["timed_out", "Timed out"],
            ["cancelled", "Cancelled"],
            ["all", "All"],
          ]}
        />
        <FilterField
          label="Agent"
          maxLength={limits.agent_id_chars_max}
          filter={filters.agent_id}
          onFilter={(agent_id) => setFilters({ agent_id, case: "" })}
        />
        <SelectField
          label="For"
          value={filters.reviewer ?? ""}
          onChange={(event) => setFilters({ reviewer: event.target.value, case: "" })}
          options={[
            ["", "Everybody"],
            ["role:reviewer", "Reviewers"],
            ["role:operator", "Operators"],
            ["role:admin", "Admins"],
            ...(caller?.id == null ? [] : [[caller.id, "Me by name"] as const]),
          ]}
        />
        <SelectField
          label="Mode"
          value={filters.mode ?? ""}
          onChange={(event) => setFilters({ mode: event.target.value, case: "" })}
          options={[
            ["", "Live"],
            ["test", "Test"],
          ]}
        />
      </form>
      <div className={chosen === undefined ? undefined : "queue"}>
        <section className="waiting" aria-label="Cases" tabIndex={-1} ref={list_place}>
          <Paged
            list={list}
            what="escalations"
            empty={
              <section className="card">
                <Empty title={status === "pending" ? "Nothing waits" : "None found"}>
                  <p>
                    {status === "pending"
                      ? "When a rule asks for review, the action stands here until somebody decides or its time is over."
                      : "No escalation matches these filters."}
                  </p>
                </Empty>
              </section>
            }
          >
            {() => (
              <nav className="entries" aria-label="Escalations">
                {groups.map((group) => (
                  <GroupEntries
                    key={group.key}
                    group={group}
                    open={opened.has(group.key)}
                    chosen={chosen}
                    onToggle={() => toggle(group.key)}
                    onRule={rules ? () => ruleOn(group) : null}
                    onChoose={(id, event) => {
                      // Where there is no room for both, the case has a page of its own.
                      if (!matchMedia("(min-width: 1081px)").matches || event.metaKey || event.ctrlKey) return;
                      event.preventDefault();
                      // A click without a pointer is the keyboard's.
                      (event.detail === 0 ? call : choose)(id);
                    }}
                  />
                ))}
              </nav>
            )}
          </Paged>
        </section>
        {chosen !== undefined && (
          <div className="detail">
            <EscalationDetail key={chosen} escalation_id={chosen} called={called === chosen} onDone={onDone} />
          </div>
        )}
      </div>
      {alike !== null && <GroupRuling group={alike} onClose={onGroupDone} />}
      {help && <ShortcutHelp onClose={() => setHelp(false)} />}
    </>
  );
}

type Choose = (id: string, event: React.MouseEvent) => void;

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
  /** Null: this caller, or this list, has nothing to rule on. */
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
            {open ? "Hide the alike" : `and ${others.length} alike`}
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
