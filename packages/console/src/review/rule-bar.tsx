import { type ReactNode, useEffect, useRef } from "react";

/** Reports its height, because messages appear above it and its buttons may wrap. */
export function RuleBar({ children }: { readonly children: ReactNode }) {
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { style } = document.documentElement;
    const observer = new ResizeObserver(() => style.setProperty("--rule-bar", `${bar.current?.offsetHeight ?? 0}px`));
    if (bar.current !== null) observer.observe(bar.current);
    return () => {
      observer.disconnect();
      style.removeProperty("--rule-bar");
    };
  }, []);
  return (
    <div className="rulebar" ref={bar}>
      {children}
    </div>
  );
}
