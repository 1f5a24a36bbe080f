/** Browser notifications about new reviews, if a person asked for them. They appear only while the tab is hidden. */
import type { Escalation } from "@countersign/contract";
import { useEffect, useRef, useState } from "react";
import { preference, setPreference } from "../../browser/storage.ts";
import { useToasts } from "../../parts/toasts.tsx";
import { visibleText } from "../../parts/visible-text.ts";

const supported = typeof Notification !== "undefined";
const named_max = 3;

export function NoticesButton({ rows, loaded }: { readonly rows: readonly Escalation[]; readonly loaded: boolean }) {
  const toasts = useToasts();
  const [on, setOn] = useState(supported && Notification.permission === "granted" && preference("notices") === "on");
  useNotices(on, rows, loaded);
  if (!supported) return null;
  const toggle = async () => {
    if (!on && (await Notification.requestPermission()) !== "granted") {
      toasts.told("The browser refuses notifications", "Allow them for this site in the browser's settings.");
      return;
    }
    setPreference("notices", on ? null : "on");
    setOn(!on);
  };
  return (
    <button type="button" className="button small" aria-pressed={on} onClick={() => void toggle()}>
      {on ? "Notifications on" : "Notify me"}
    </button>
  );
}

function useNotices(on: boolean, rows: readonly Escalation[], loaded: boolean): void {
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (!loaded) return;
    const waiting = rows.filter(({ status }) => status === "pending");
    const before = known.current;
    known.current = new Set([...(before ?? []), ...waiting.map(({ escalation_id }) => escalation_id)]);
    if (!on || before === null || !document.hidden) return;
    const arrived = waiting.filter(({ escalation_id }) => !before.has(escalation_id));
    if (arrived.length > 0) tell(arrived);
  }, [on, rows, loaded]);
}

/** A later notification replaces an earlier one. */
function tell(arrived: readonly Escalation[]): void {
  const lines = arrived
    .slice(0, named_max)
    .map(({ agent_id, action }) => visibleText(`${agent_id}: ${action.verb} ${action.target?.identifier ?? ""}`));
  const title = arrived.length === 1 ? "1 action waits for review" : `${arrived.length} actions wait for review`;
  const notice = new Notification(title, { body: lines.join("\n"), tag: "countersign.review" });
  notice.onclick = () => {
    window.focus();
    notice.close();
  };
}
