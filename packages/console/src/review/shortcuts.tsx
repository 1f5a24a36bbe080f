/** Single-key shortcuts: off in text fields and dialogs, and for people who switched them off (WCAG 2.1.4). */
import { useEffect, useRef, useState } from "react";
import { preference, setPreference } from "../browser/storage.ts";
import { Dialog } from "../parts/forms/dialog.tsx";

let enabled = preference("shortcuts") !== "off";

/** After typing, keys count as typing for this time. */
const pause_ms = 1_000;

/** The field of the last input, until its user leaves it. */
let writing: Element | null = null;
let typed_at_ms = -Infinity;

/** A checkbox takes no letters, so shortcuts work on it. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), textarea, select"));

/** Returns whether this key continues a text whose field disappeared. */
function continuesTyping(event: KeyboardEvent): boolean {
  const gone = writing !== null && !writing.isConnected;
  writing = null;
  if (!gone && event.timeStamp - typed_at_ms >= pause_ms) return false;
  typed_at_ms = event.timeStamp;
  return true;
}

export function useKeys(keys: Readonly<Record<string, () => void>>, active = true): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    if (!active) return;
    const onKey = (event: KeyboardEvent) => {
      const shortcut = !event.ctrlKey && !event.metaKey && !event.altKey && event.key.length === 1;
      if (isTyping(event.target)) {
        writing = shortcut ? (event.target as Element) : null;
        return;
      }
      if (!enabled || !shortcut || event.defaultPrevented || continuesTyping(event)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      const act = current.current[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    const onClick = () => {
      writing = null;
    };
    document.addEventListener("keydown", onKey);
    document.addEventListener("click", onClick, true);
    return () => {
      document.removeEventListener("keydown", onKey);
      document.removeEventListener("click", onClick, true);
    };
  }, [active]);
}

type Keys = readonly (readonly [string, string])[];

const groups: readonly (readonly [name: string, keys: Keys])[] = [
  [
    "Everywhere",
    [
      ["Ctrl + K", "go to a page, an agent, a policy or a decision"],
      ["Tab", "next field, link or button"],
      ["↑ ↓", "next entry of a list or menu"],
      ["Ctrl + Enter", "confirm in a dialog"],
      ["Esc", "leave a dialog or menu"],
      ["?", "this help"],
    ],
  ],
  ["Decisions", [["/", "find"]]],
  [
    "Review queue",
    [
      ["j", "next case"],
      ["k", "case before"],
      ["a", "approve"],
      ["m", "approve with changes"],
      ["b", "block"],
      ["x", "select the case, with its similar ones"],
      ["Shift + X", "select all"],
      ["g", "decide the selected cases, or all similar ones"],
      ["c", "claim the case, or give it back"],
      ["t", "comment"],
      ["s", "snooze"],
    ],
  ],
];

/** Opened with `?` on every page. */
export function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  const [on, setOn] = useState(enabled);
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      {groups.map(([name, keys]) => (
        <section key={name} className="stack tight" aria-label={name}>
          <h3>{name}</h3>
          <dl className="pairs">
            {keys.map(([key, meaning]) => (
              <div key={key} className="pair">
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <label className="check">
        <input
          type="checkbox"
          checked={on}
          onChange={(event) => {
            enabled = event.target.checked;
            setPreference("shortcuts", enabled ? null : "off");
            setOn(enabled);
          }}
        />
        Single-key shortcuts
      </label>
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
