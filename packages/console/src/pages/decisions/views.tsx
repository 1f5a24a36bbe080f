import { Link } from "@tanstack/react-router";

const views: readonly (readonly [title: string, search: Readonly<Record<string, string>>])[] = [
  ["All", {}],
  ["Waiting", { outcome: "waiting" }],
  ["Blocked", { verdict: "block" }],
  ["Overridden", { outcome: "overridden" }],
  ["Withdrawn", { outcome: "withdrawn" }],
  ["Executed anyway", { outcome: "contradicted" }],
  ["Outcome unknown", { execution: "unknown" }],
];

/** Views that people often need. A view is an address, so every other set of filters can be kept as a bookmark. */
export function Views() {
  return (
    <nav className="tabs" aria-label="Views">
      {views.map(([title, search]) => (
        <Link key={title} to="/decisions" search={search as never} activeOptions={{ exact: true, includeSearch: true }}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
