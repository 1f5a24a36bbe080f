import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useConnection } from "../api/connection.ts";

export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <path d="M9 16.5l4.6 4.6L23.5 11" fill="none" stroke="var(--on-accent)" strokeWidth="3.2" strokeLinecap="round" />
      <path d="M9 25h14" stroke="var(--on-accent)" strokeOpacity=".6" strokeWidth="2.4" strokeLinecap="round" />
    </svg>
  );
}

const ask_again_ms = 3_000;

/** Shown while the service does not answer; retries until it does. */
export function ConnectionBanner() {
  const connection = useConnection();
  const queries = useQueryClient();
  useEffect(() => {
    if (connection === "up") return;
    const ask = () =>
      void fetch("/healthz", { cache: "no-store" }).then(
        () => queries.invalidateQueries(),
        () => undefined,
      );
    const timer = setInterval(ask, ask_again_ms);
    return () => clearInterval(timer);
  }, [connection, queries]);
  if (connection === "up") return null;
  return (
    <div className="banner bad" role="alert">
      <div>
        <strong>No connection to the service</strong>
        The page may show old data. Your text is kept, and the page continues when the service answers again.
      </div>
    </div>
  );
}
