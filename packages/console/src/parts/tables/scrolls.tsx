/** Areas that scroll in their own frame, with a focus and a name for the keyboard. */
import type { ReactNode } from "react";
import { Data } from "./data.tsx";

export function Wide({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to get there
    <section className="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

/** The agent's description of its action, marked as such. */
export function Said({ text }: { readonly text: string }) {
  return (
    <div className="stack tight">
      <span className="small muted">In the agent’s own words, unchecked:</span>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to get there */}
      <blockquote className="said" aria-label="In the agent’s own words" tabIndex={0}>
        <Data text={text} lines />
      </blockquote>
    </div>
  );
}
