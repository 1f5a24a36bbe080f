/** The less common actions of a row. Arrow keys move between them, and Escape goes back to the button. */
import { type KeyboardEvent, type ReactNode, useRef } from "react";

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

export function MoreMenu({ children }: { readonly children: ReactNode }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const summary = useRef<HTMLElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const details = menu.current;
    if (details === null) return;
    if (event.key === "Escape") {
      details.open = false;
      summary.current?.focus();
    }
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    details.open = true;
    const entries = [...details.querySelectorAll<HTMLButtonElement>("button:enabled")];
    const at = entries.indexOf(document.activeElement as HTMLButtonElement);
    const next = at < 0 && step < 0 ? -1 : at + step;
    entries.at(next % entries.length)?.focus();
  };
  return (
    <details className="more" ref={menu} onKeyDown={onKeyDown}>
      <summary className="button small" ref={summary}>
        More
      </summary>
      <span className="stack tight">{children}</span>
    </details>
  );
}
