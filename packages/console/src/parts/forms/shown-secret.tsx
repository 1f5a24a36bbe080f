/** A secret shown once, above every page, so that a change of caller does not remove it. */
import { secret_mask } from "@countersign/contract";
import { createContext, type ReactNode, useContext, useState } from "react";
import { Secret } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";

interface Shown {
  readonly title: string;
  readonly about: string;
  readonly text: string;
  readonly label: string;
  /** Advice if `text` is masked, because the first answer was lost. Absent: the service never masks it. */
  readonly lost?: string;
}

const ShownSecretContext = createContext<((secret: Shown) => void) | null>(null);

export function ShownSecretProvider({ children }: { readonly children: ReactNode }) {
  const [shown, setShown] = useState<Shown | null>(null);
  return (
    <ShownSecretContext value={setShown}>
      {children}
      {shown !== null && (
        <Dialog title={shown.title} onClose={null}>
          {shown.text === secret_mask ? (
            <p>{`The answer with the secret did not arrive, and it is shown only once. ${shown.lost}`}</p>
          ) : (
            <>
              <p>{`It is shown only here. ${shown.about}`}</p>
              <Secret text={shown.text} label={shown.label} />
            </>
          )}
          <div className="actions">
            <button type="button" className="button primary" onClick={() => setShown(null)}>
              {shown.text === secret_mask ? "Close" : "I have stored it"}
            </button>
          </div>
        </Dialog>
      )}
    </ShownSecretContext>
  );
}

export function useShowSecret(): (secret: Shown) => void {
  const show = useContext(ShownSecretContext);
  if (show === null) throw new Error("useShowSecret outside ShownSecretProvider");
  return show;
}
