/** Filters in the URL, so that a view can be shared and Back works. */
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

export type Filters<K extends string> = Readonly<Partial<Record<K, string>>>;

/** Returns texts, never numbers or objects. */
export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const entries = Object.entries(search).filter(([, value]) => typeof value === "string" && value !== "");
  const text = new URLSearchParams(entries as [string, string][]).toString();
  return text === "" ? "" : `?${text}`;
}

/** Returns the named filters and a function to change them. An empty text removes a filter. Others in the URL stay. */
export function useFilters<const K extends string>(names: readonly K[]): [Filters<K>, (change: Filters<K>) => void] {
  const { search, pathname } = useLocation();
  const navigate = useNavigate();
  const given = search as Readonly<Record<string, string>>;
  const filters = Object.fromEntries(names.flatMap((name) => (given[name] ? [[name, given[name]]] : []))) as Filters<K>;
  const change = useCallback(
    (change: Filters<K>) => {
      // Reads the current URL, so that two changes at once both apply.
      const search = { ...parseSearch(location.search), ...change };
      void navigate({ to: pathname, search: search as never, replace: true });
    },
    [navigate, pathname],
  );
  return [filters, change];
}
