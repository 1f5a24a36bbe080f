import { type RefObject, useEffect, useRef, useState } from "react";

/** Whether an element has been on the screen, once it was. For what costs a request each where there may be a hundred. */
export function useSeen<T extends Element>(): readonly [element: RefObject<T | null>, seen: boolean] {
  const element = useRef<T>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (element.current === null || seen) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [seen]);
  return [element, seen];
}
