/** Light, dark, or the system's theme. */
import { useSyncExternalStore } from "react";
import { preference, setPreference } from "./storage.ts";

export type Theme = "system" | "light" | "dark";

const listeners = new Set<() => void>();

/** Returns the stored theme. */
export function chosenTheme(): Theme {
  const kept = preference("theme");
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Switches the page to this theme. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  setPreference("theme", theme === "system" ? null : theme);
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Returns the current theme, and follows changes of it. */
export function useTheme(): Theme {
  return useSyncExternalStore(
    subscribe,
    () => (document.documentElement.dataset["theme"] as Theme | undefined) ?? "system",
  );
}
