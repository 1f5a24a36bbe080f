/** A dialog: the browser's own, which keeps the focus inside, closes on Escape and gives the focus back. */
import { type ReactNode, useEffect, useId, useRef } from "react";

export function Dialog({
  title,
  onClose,
  broad = false,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly broad?: boolean;
  readonly children: ReactNode;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      className={broad ? "broad" : undefined}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
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
