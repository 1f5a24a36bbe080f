/** Short messages. All but successes stay until the reader closes them. */
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from "react";
import { adviceOn } from "../api/advice.ts";
import { Data } from "./tables/data.tsx";

interface Toast {
  readonly id: number;
  readonly tone: "good" | "plain" | "bad";
  readonly title: string;
  readonly text: string | null;
}

export interface Toasts {
  done(title: string, text?: string): void;
  /** Neither a success nor an error; stays until the reader closes it. */
  told(title: string, text: string): void;
  failed(error: unknown): void;
}

const ToastContext = createContext<Toasts | null>(null);
const good_shown_ms = 6_000;

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [shown, setShown] = useState<readonly Toast[]>([]);
  const next = useRef(1);
  const close = useCallback((id: number) => setShown((all) => all.filter((each) => each.id !== id)), []);
  const show = useCallback(
    (toast: Omit<Toast, "id">) => {
      const id = next.current++;
      setShown((all) => [...all.filter((each) => each.title !== toast.title).slice(-3), { ...toast, id }]);
      if (toast.tone === "good") setTimeout(() => close(id), good_shown_ms);
    },
    [close],
  );
  const toasts = useMemo<Toasts>(
    () => ({
      done: (title, text) => show({ tone: "good", title, text: text ?? null }),
      told: (title, text) => show({ tone: "plain", title, text }),
      failed: (error) => {
        const { title, todo, request_id } = adviceOn(error);
        show({ tone: "bad", title, text: request_id === null ? todo : `${todo} (request ${request_id})` });
      },
    }),
    [show],
  );
  return (
    <ToastContext value={toasts}>
      {children}
      <section className="toasts" aria-label="Messages" aria-live="polite">
        {shown.map(({ id, tone, title, text }) => (
          <div key={id} className={`toast ${tone}`}>
            <div className="grow">
              <strong>{title}</strong>
              {text !== null && (
                <p className="small">
                  <Data text={text} />
                </p>
              )}
            </div>
            <button type="button" className="button small quiet" onClick={() => close(id)} aria-label="Close message">
              ✕
            </button>
          </div>
        ))}
      </section>
    </ToastContext>
  );
}

export function useToasts(): Toasts {
  const toasts = useContext(ToastContext);
  if (toasts === null) throw new Error("useToasts outside ToastProvider");
  return toasts;
}
