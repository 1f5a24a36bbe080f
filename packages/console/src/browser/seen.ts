import { type RefObject, useEffect, useRef, useState } from "react";

/** Returns whether an element has ever been on the screen. For elements that cost a request each. */
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
