/** Single-key shortcuts: off in text fields and dialogs, and off altogether for who switched them off (WCAG 2.1.4). */
import { useEffect, useRef, useState } from "react";
import { preference, setPreference } from "../browser/storage.ts";
import { Dialog } from "../parts/dialog.tsx";

let enabled = preference("shortcuts") !== "off";

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:input|textarea|select)$/i.test(target.tagName));

/** Runs what belongs to a key while `active`. */
export function useKeys(keys: Readonly<Record<string, () => void>>, active = true): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    if (!active) return;
    const onKey = (event: KeyboardEvent) => {
      if (!enabled || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
      const act = current.current[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [active]);
}

const help: readonly (readonly [string, string])[] = [
  ["j", "next case"],
  ["k", "case before"],
  ["a", "approve"],
  ["m", "approve with changes"],
  ["b", "block"],
  ["g", "rule on all that are alike"],
  ["Ctrl + Enter", "confirm in the dialog"],
  ["Esc", "leave the dialog"],
  ["?", "this help"],
];

export function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  const [on, setOn] = useState(enabled);
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl className="pairs">
        {help.map(([key, meaning]) => (
          <div key={key} style={{ display: "contents" }}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
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
