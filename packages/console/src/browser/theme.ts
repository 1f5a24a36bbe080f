import { useSyncExternalStore } from "react";
import { preference, setPreference } from "./storage.ts";

export type Theme = "system" | "light" | "dark";

const listeners = new Set<() => void>();

export function chosenTheme(): Theme {
  const kept = preference("theme");
  return kept === "light" || kept === "dark" ? kept : "system";
}

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

export function useTheme(): Theme {
  return useSyncExternalStore(
    subscribe,
    () => (document.documentElement.dataset["theme"] as Theme | undefined) ?? "system",
  );
}
