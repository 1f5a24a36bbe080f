import { useState } from "react";

export function CopyButton({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [said, setSaid] = useState<string | null>(null);
  const copy = async () => {
    try {
      // Rejects if the browser forbids it. Undefined on a page that is neither https nor local.
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      setSaid("Not allowed: select and copy it");
    }
  };
  return (
    <button type="button" className="button small" onClick={() => void copy()}>
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}

export function Secret({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="secret">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </div>
  );
}
