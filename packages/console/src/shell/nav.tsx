import type { Role } from "@countersign/contract";
import { roleMeets } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { useClient, useMay, useReads, useSession } from "../api/session.tsx";
import { useInHands } from "../parts/records/who.tsx";

const groups = [
  {
    name: "Work",
    links: [
      { to: "/", text: "Overview", roles: ["reviewer", "auditor"] },
      { to: "/review", text: "Review queue", roles: ["reviewer", "auditor"] },
      { to: "/decisions", text: "Decisions", roles: ["reviewer", "auditor", "agent"] },
    ],
  },
  {
    name: "Rules",
    links: [
      { to: "/policies", text: "Policies", roles: ["reviewer", "auditor"] },
      { to: "/packs", text: "Packs", roles: ["reviewer", "auditor"] },
      { to: "/membranes", text: "Membranes", roles: ["reviewer", "auditor"] },
      { to: "/backtest", text: "Backtest", roles: ["reviewer", "auditor"] },
    ],
  },
  {
    name: "Organization",
    links: [
      { to: "/agents", text: "Agents", roles: ["reviewer", "auditor"] },
      { to: "/budgets", text: "Budgets", roles: ["reviewer", "auditor"] },
      { to: "/overrides", text: "Overrides", roles: ["reviewer", "auditor"] },
      { to: "/grants", text: "Grants", roles: ["reviewer", "auditor"] },
      { to: "/webhooks", text: "Webhooks", roles: ["operator"] },
      { to: "/keys", text: "API keys", roles: ["admin"] },
      { to: "/people", text: "People", roles: ["operator", "auditor"] },
      { to: "/usage", text: "Usage", roles: ["reviewer", "auditor"] },
      { to: "/audit", text: "Audit", roles: ["operator", "auditor"] },
      { to: "/settings", text: "Settings", roles: ["reviewer", "auditor", "agent"] },
    ],
  },
] as const satisfies readonly {
  name: string;
  links: readonly { to: string; text: string; roles: readonly Role[] }[];
}[];

/**
 * Returns how many of the queue's first 100 escalations wait for the caller, without those assigned to others or
 * already voted on. `0+`: none of these, but there are more. A caller who only reads gets the number of all.
 */
function usePending(): string | null {
  const client = useClient();
  const reads = useReads();
  const { caller } = useSession();
  const decides = useMay("reviewer");
  const inHands = useInHands();
  const { data } = useQuery({
    queryKey: ["escalations", "count"],
    queryFn: () => client.listEscalations({ status: "pending", order: "expires_at", limit: 100 }),
    refetchInterval: 10_000,
    enabled: reads,
  });
  const waiting = (data?.escalations ?? []).filter(
    (each) => !decides || (inHands(each) && !each.votes.some(({ reviewer }) => reviewer === caller?.person)),
  );
  if (data === undefined || (waiting.length === 0 && data.next_cursor === null)) return null;
  return `${waiting.length}${data.next_cursor === null ? "" : "+"}`;
}

export function Nav({ onGo }: { readonly onGo: () => void }) {
  const { caller } = useSession();
  const pending = usePending();
  const { pathname } = useLocation();
  if (caller === null) return null;
  return (
    <nav aria-label="Main">
      {groups.map(({ name, links }) => {
        const allowed = links.filter(({ roles }) => roleMeets(caller.role, roles));
        if (allowed.length === 0) return null;
        return (
          <div key={name}>
            <h2>{name}</h2>
            <ul className="plain">
              {allowed.map(({ to, text }) => (
                <li key={to}>
                  <Link
                    to={to}
                    activeOptions={{ exact: to === "/", includeSearch: false }}
                    // The page of a single case belongs to the queue.
                    {...(to === "/review" && pathname.startsWith("/escalations/") ? { "aria-current": "page" } : {})}
                    onClick={onGo}
                  >
                    {text}
                    {to === "/review" && pending !== null && (
                      <span className="count">
                        {pending}
                        <span className="sr"> waiting</span>
                      </span>
                    )}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}
