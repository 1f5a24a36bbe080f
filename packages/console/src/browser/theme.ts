/** Light, dark, or what the system says. */
import { useSyncExternalStore } from "react";
import { preference, setPreference } from "./storage.ts";

export type Theme = "system" | "light" | "dark";

const listeners = new Set<() => void>();

/** The theme that was chosen, as it was kept. */
export function chosenTheme(): Theme {
  const kept = preference("theme");
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Shows the page in this theme from now on. */
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

/** The theme that the page is shown in, wherever on it that was chosen. */
export function useTheme(): Theme {
  return useSyncExternalStore(
    subscribe,
    () => (document.documentElement.dataset["theme"] as Theme | undefined) ?? "system",
  );
}
