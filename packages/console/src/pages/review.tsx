import type { Escalation } from "@countersign/contract";
import { useState } from "react";
import { useMay } from "../api/session.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ShadowBanner } from "../parts/shadow-banner.tsx";
import type { Group } from "../review/escalation-data.ts";
import { EscalationDetail } from "../review/escalation-detail.tsx";
import { GroupRuling } from "../review/group-ruling.tsx";
import { ShortcutHelp, useKeys } from "../review/shortcuts.tsx";
import { parseSearch } from "../shell/filters.ts";
import { Cases } from "./review/cases.tsx";
import { useChosenCase } from "./review/chosen-case.ts";
import { QueueFilterForm } from "./review/filter-form.tsx";
import { useListFocus } from "./review/list-focus.ts";
import { useQueue, useQueueFilters } from "./review/queue.ts";

export function ReviewPage() {
  const [filters, setFilters] = useQueueFilters();
  const queue = useQueue(filters);
  const current = useChosenCase(queue.visible, filters.case, setFilters);
  const { chosen } = current;
  const [help, setHelp] = useState(false);
  const [alike, setAlike] = useState<Group | null>(null);
  const focus = useListFocus({ chosen, ruled: current.ruled, alike });
  const rules = useMay("reviewer") && queue.status === "pending";
  const ruleOn = (group: Group) => {
    if (group.members.length > 1) setAlike(group);
  };
  const chosenGroup = queue.groups.find(({ members }) => members.some((each) => each.escalation_id === chosen));
  useKeys({
    j: () => current.move(1),
    k: () => current.move(-1),
    "?": () => setHelp(true),
    ...(rules && chosenGroup !== undefined ? { g: () => ruleOn(chosenGroup) } : {}),
  });
  const onDone = (after: Escalation) => {
    // The answer may arrive after the reviewer left this case or page.
    if (after.status === "pending" || parseSearch(location.search)["case"] !== after.escalation_id) return;
    current.leave(after.escalation_id);
  };
  const onGroupDone = (closed: readonly string[]) => {
    setAlike(null);
    if (!current.leaveGroup(closed) && closed.length > 0) focus.takeWhenGroupIsGone();
  };
  return (
    <>
      <PageHead title="Review queue" about="Actions that wait for a person. New ones appear by themselves.">
        <button type="button" className="button small" onClick={() => setHelp(true)}>
          Keyboard <kbd>?</kbd>
        </button>
      </PageHead>
      <ShadowBanner where="queue" />
      <QueueFilterForm filters={filters} onFilter={(change) => setFilters({ ...change, case: "" })} />
      <div className={chosen === undefined ? undefined : "queue"}>
        <Cases ref={focus.place} queue={queue} current={current} onRule={rules ? ruleOn : null} />
        {chosen !== undefined && (
          <div className="detail">
            <EscalationDetail key={chosen} escalation_id={chosen} called={current.called === chosen} onDone={onDone} />
          </div>
        )}
      </div>
      {alike !== null && <GroupRuling group={alike} onClose={onGroupDone} />}
      {help && <ShortcutHelp onClose={() => setHelp(false)} />}
    </>
  );
}
