/** A text to copy. */
import { useState } from "react";

export function CopyButton({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [said, setSaid] = useState<string | null>(null);
  return (
    <button
      type="button"
      className="button small"
      onClick={() =>
        void navigator.clipboard.writeText(text).then(
          () => setSaid("Copied"),
          () => setSaid("Not allowed: select and copy it"),
        )
      }
    >
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}

/** A secret that is shown once. */
export function Secret({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="secret">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </div>
  );
}
