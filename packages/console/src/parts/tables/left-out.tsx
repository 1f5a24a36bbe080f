/**
 * Counts the characters of an action that are not displayed, because long texts are cut until a reader expands them.
 */
import { createContext, type ReactNode, useContext, useEffect, useId, useMemo, useState } from "react";

type Tell = (place: string, chars: number) => void;

const TellContext = createContext<Tell | null>(null);

/** Reports the characters that this place leaves out to the enclosing `CountsLeftOut`. */
export function useLeftOut(chars: number): void {
  const tell = useContext(TellContext);
  const place = useId();
  useEffect(() => {
    tell?.(place, chars);
    return () => tell?.(place, 0);
  }, [tell, place, chars]);
}

export function useCountLeftOut(): { readonly left_out: number; readonly tell: Tell } {
  const [places, setPlaces] = useState<ReadonlyMap<string, number>>(new Map());
  const tell = useMemo<Tell>(
    () => (place, chars) =>
      setPlaces((before) => {
        if ((before.get(place) ?? 0) === chars) return before;
        const after = new Map(before);
        if (chars === 0) after.delete(place);
        else after.set(place, chars);
        return after;
      }),
    [],
  );
  return { left_out: [...places.values()].reduce((sum, chars) => sum + chars, 0), tell };
}

/** `tell` null: the texts are not part of the action, and are not counted. */
export function CountsLeftOut({ tell, children }: { readonly tell: Tell | null; readonly children: ReactNode }) {
  return <TellContext.Provider value={tell}>{children}</TellContext.Provider>;
}
