/** A dialog: the browser's own, which keeps the focus inside, closes on Escape and gives the focus back. */
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";

export function Dialog({
  title,
  onClose,
  onConfirm,
  broad = false,
  children,
}: {
  readonly title: string;
  /** What Escape does; null: nothing, it closes by a button of its own only. */
  readonly onClose: (() => void) | null;
  /** What Ctrl+Enter does, wherever in the dialog the focus is: a click on its text takes it from the fields. */
  readonly onConfirm?: () => void;
  readonly broad?: boolean;
  readonly children: ReactNode;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [closed, setClosed] = useState(0);
  // Closed before it is taken out of the page: of one that is gone the browser gives no focus back.
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
        // A second Escape is not asked about: the browser closes it itself.
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

/** Asks before something that cannot be taken back. */
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

/** The end of a form in a dialog: the way out, and what sends it. */
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
