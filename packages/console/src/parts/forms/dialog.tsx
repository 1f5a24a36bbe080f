/** The browser's own dialog: keeps the focus inside, closes on Escape and returns the focus. */
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";

export function Dialog({
  title,
  onClose,
  onConfirm,
  broad = false,
  children,
}: {
  readonly title: string;
  /** Called on Escape; null: only the dialog's own button closes it. */
  readonly onClose: (() => void) | null;
  /** Called on Ctrl+Enter anywhere in the dialog, because a click on its text moves the focus out of the fields. */
  readonly onConfirm?: () => void;
  readonly broad?: boolean;
  readonly children: ReactNode;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [closed, setClosed] = useState(0);
  // Closed before it is removed, because the browser returns the focus only on closing.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the browser closed and nobody took away is shown again
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, [closed]);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      className={broad ? "broad" : undefined}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onConfirm?.();
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClose={({ currentTarget }) => {
        // The browser closes the dialog itself on a second Escape.
        if (currentTarget.open) return;
        onClose?.();
        setClosed((times) => times + 1);
      }}
    >
      <div className="inside">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** Asks before an action that cannot be undone. */
export function Confirm({
  title,
  action,
  tone = "primary",
  busy = false,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string;
  readonly action: string;
  readonly tone?: "primary" | "bad";
  readonly busy?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className={`button ${tone}`} onClick={onConfirm} disabled={busy}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}

export function FormActions({
  action,
  disabled,
  onClose,
}: {
  readonly action: string;
  readonly disabled: boolean;
  readonly onClose: () => void;
}) {
  return (
    <div className="actions">
      <button type="button" className="button" onClick={onClose}>
        Cancel
      </button>
      <button type="submit" className="button primary" disabled={disabled}>
        {action}
      </button>
    </div>
  );
}
