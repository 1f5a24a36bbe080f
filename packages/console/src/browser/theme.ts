/** Light, dark, or what the system says. */
import { preference, setPreference } from "./storage.ts";

export type Theme = "system" | "light" | "dark";

/** The theme that was chosen. */
export function chosenTheme(): Theme {
  const kept = preference("theme");
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Shows the page in this theme from now on. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  setPreference("theme", theme === "system" ? null : theme);
}
