import type { Escalation } from "@countersign/contract";
import { useState } from "react";
import { useMay } from "../api/session.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ShadowBanner } from "../parts/shadow-banner.tsx";
import type { Group } from "../review/escalation-data.ts";
import { EscalationDetail } from "../review/escalation-detail.tsx";
import { GroupRuling } from "../review/group-ruling.tsx";
import { useKeys } from "../review/shortcuts.tsx";
import { parseSearch } from "../shell/filters.ts";
import { Cases } from "./review/cases.tsx";
import { Causes } from "./review/causes.tsx";
import { useChosenCase } from "./review/chosen-case.ts";
import { focusSearch, QueueFilterForm } from "./review/filter-form.tsx";
import { useListFocus } from "./review/list-focus.ts";
import { NoticesButton } from "./review/notices.tsx";
import { noFilters, type Queue, type QueueFilters, useQueue, useQueueFilters } from "./review/queue.ts";
import { useSelection } from "./review/selection.ts";
import { SelectionBar } from "./review/selection-bar.tsx";

export function ReviewPage() {
  const [filters, setFilters] = useQueueFilters();
  const decides = useMay("reviewer");
  const queue = useQueue(filters, decides);
  const current = useChosenCase(queue.visible, filters.case, setFilters);
  const { chosen } = current;
  const [alike, setAlike] = useState<Group | null>(null);
  const focus = useListFocus({ chosen, ruled: current.ruled, alike });
  const rules = decides && queue.status === "pending";
  const selection = useSelection(queue.list.rows, filters.selected, setFilters);
  const ruleOn = (group: Group) => {
    if (group.members.length > 1 || group.by === "chosen") setAlike(group);
  };
  const chosenGroup = queue.groups.find(({ members }) => members.some((each) => each.escalation_id === chosen));
  const selected: Group | null =
    selection.members.length === 0 ? null : { key: "selected", by: "chosen", members: selection.members };
  const decided = selected ?? chosenGroup;
  useKeys({
    j: () => current.move(1),
    k: () => current.move(-1),
    "/": focusSearch,
    ...(rules && decided !== undefined ? { g: () => ruleOn(decided) } : {}),
    ...(rules ? { X: selection.all } : {}),
    ...(rules && chosenGroup !== undefined ? { x: () => selection.toggle(pickOf(queue, chosenGroup, chosen)) } : {}),
  });
  const onDone = (after: Escalation) => {
    // The answer may arrive after the reviewer left this case or page.
    if (after.status === "pending" || parseSearch(location.search)["case"] !== after.escalation_id) return;
    current.leave(after.escalation_id);
  };
  const onGroupDone = (closed: readonly string[]) => {
    setAlike(null);
    if (closed.length > 0) selection.clear();
    if (!current.leaveGroup(closed) && closed.length > 0) focus.takeWhenGroupIsGone();
  };
  const filter = (change: QueueFilters) => setFilters({ ...change, case: "", selected: "" });
  return (
    <>
      <QueueHead queue={queue} />
      <ShadowBanner where="queue" />
      {queue.status === "pending" && <Causes onFilter={filter} />}
      <QueueFilterForm filters={filters} onFilter={filter} />
      {rules && <SelectionBar selection={selection} listed={queue.list.rows.length} onRule={ruleOn} />}
      <div className={chosen === undefined ? undefined : "queue"}>
        <Cases
          ref={focus.place}
          queue={queue}
          current={current}
          selection={rules ? selection : null}
          filtered={Object.keys(noFilters).some((name) => filters[name as keyof typeof noFilters] !== undefined)}
          onReset={() => filter(noFilters)}
          onRule={rules ? ruleOn : null}
        />
        {chosen !== undefined && (
          <div className="detail">
            <EscalationDetail key={chosen} escalation_id={chosen} called={current.called === chosen} onDone={onDone} />
          </div>
        )}
      </div>
      {alike !== null && <GroupRuling group={alike} onClose={onGroupDone} />}
    </>
  );
}

/** An open group's members are selected singly. */
function pickOf({ opened }: Queue, group: Group, chosen: string | undefined): Pick<Group, "members"> {
  if (!opened.has(group.key)) return group;
  return { members: group.members.filter(({ escalation_id }) => escalation_id === chosen) };
}

function QueueHead({ queue: { list, status } }: { readonly queue: Queue }) {
  const count = `${list.rows.length}${list.hasNextPage ? "+" : ""}`;
  const open = status === "pending";
  return (
    <PageHead
      title="Review queue"
      about="Actions that wait for a person. New ones appear by themselves."
      count={open && list.rows.length > 0 ? count : undefined}
    >
      {open && <NoticesButton rows={list.rows} loaded={list.data !== undefined} />}
    </PageHead>
  );
}
