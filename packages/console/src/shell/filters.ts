/** Filters that live in the URL: what is on the screen can be sent to somebody, and Back works. */
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

export type Filters<K extends string> = Readonly<Partial<Record<K, string>>>;

/** The search of the URL as it is: texts, never numbers or objects. */
export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const entries = Object.entries(search).filter(([, value]) => typeof value === "string" && value !== "");
  const text = new URLSearchParams(entries as [string, string][]).toString();
  return text === "" ? "" : `?${text}`;
}

/** The named filters and how to change them; an empty text takes one away. Others in the URL stay. */
export function useFilters<const K extends string>(names: readonly K[]): [Filters<K>, (change: Filters<K>) => void] {
  const { search, pathname } = useLocation();
  const navigate = useNavigate();
  const given = search as Readonly<Record<string, string>>;
  const filters = Object.fromEntries(names.flatMap((name) => (given[name] ? [[name, given[name]]] : []))) as Filters<K>;
  const change = useCallback(
    (change: Filters<K>) => {
      // As it is in the URL now: two changes at once both count.
      const search = { ...parseSearch(location.search), ...change };
      void navigate({ to: pathname, search: search as never, replace: true });
    },
    [navigate, pathname],
  );
  return [filters, change];
}
