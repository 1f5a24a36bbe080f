/** How much of an action is not on the screen, because its long texts are cut until somebody asks for more. */
import { createContext, type ReactNode, useContext, useEffect, useId, useMemo, useState } from "react";

type Tell = (place: string, chars: number) => void;

const TellContext = createContext<Tell | null>(null);

/** Tells the `CountsLeftOut` around it how many characters this place leaves out. */
export function useLeftOut(chars: number): void {
  const tell = useContext(TellContext);
  const place = useId();
  useEffect(() => {
    tell?.(place, chars);
    return () => tell?.(place, 0);
  }, [tell, place, chars]);
}

/** Returns how many characters are left out now, and what counts them: it goes to the `CountsLeftOut` around the texts. */
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

/** `tell` null: the texts are no part of the action, and count nothing. */
export function CountsLeftOut({ tell, children }: { readonly tell: Tell | null; readonly children: ReactNode }) {
  return <TellContext.Provider value={tell}>{children}</TellContext.Provider>;
}
