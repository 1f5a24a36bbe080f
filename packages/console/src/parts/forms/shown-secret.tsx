/** A secret that is shown once, above every page: what its making changes (who is signed in, say) does not take it away. */
import { secret_mask } from "@countersign/contract";
import { createContext, type ReactNode, useContext, useState } from "react";
import { Secret } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";

interface Shown {
  readonly title: string;
  /** What is to be done with it. */
  readonly about: string;
  readonly text: string;
  /** Of the button that copies it. */
  readonly label: string;
  /** What to do if `text` is masked, because the first answer was lost. Absent: the service never masks it. */
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
            <p>{`The answer that showed it did not arrive, and it is shown only once. ${shown.lost}`}</p>
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

/** Shows a secret until somebody closes it. */
export function useShowSecret(): (secret: Shown) => void {
  const show = useContext(ShownSecretContext);
  if (show === null) throw new Error("useShowSecret outside ShownSecretProvider");
  return show;
}
