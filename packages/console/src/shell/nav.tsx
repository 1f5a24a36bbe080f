import type { Role } from "@countersign/contract";
import { roleMeets } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import {
  Bot,
  ChartColumn,
  CloudUpload,
  FileText,
  Gauge,
  Handshake,
  History,
  Inbox,
  KeyRound,
  LayoutDashboard,
  ListChecks,
  type LucideIcon,
  MessagesSquare,
  Package,
  ScrollText,
  Settings,
  Shield,
  Undo2,
  Users,
  Webhook,
} from "lucide-react";
import { useClient, useMay, useReads, useSession } from "../api/session.tsx";
import { useInHands } from "../parts/records/who.tsx";

const groups = [
  {
    name: "Work",
    links: [
      { to: "/", text: "Overview", icon: LayoutDashboard, roles: ["reviewer", "auditor"] },
      { to: "/review", text: "Review queue", icon: Inbox, roles: ["reviewer", "auditor"] },
      { to: "/decisions", text: "Decisions", icon: ListChecks, roles: ["reviewer", "auditor", "agent"] },
    ],
  },
  {
    name: "Rules",
    links: [
      { to: "/policies", text: "Policies", icon: FileText, roles: ["reviewer", "auditor"] },
      { to: "/packs", text: "Packs", icon: Package, roles: ["reviewer", "auditor"] },
      { to: "/membranes", text: "Membranes", icon: Shield, roles: ["reviewer", "auditor"] },
      { to: "/backtest", text: "Backtest", icon: History, roles: ["reviewer", "auditor"] },
    ],
  },
  {
    name: "Organization",
    links: [
      { to: "/agents", text: "Agents", icon: Bot, roles: ["reviewer", "auditor"] },
      { to: "/budgets", text: "Budgets", icon: Gauge, roles: ["reviewer", "auditor"] },
      { to: "/overrides", text: "Overrides", icon: Undo2, roles: ["reviewer", "auditor"] },
      { to: "/grants", text: "Grants", icon: Handshake, roles: ["reviewer", "auditor"] },
      { to: "/webhooks", text: "Webhooks", icon: Webhook, roles: ["operator"] },
      { to: "/channels", text: "Channels", icon: MessagesSquare, roles: ["admin", "auditor"] },
      { to: "/streams", text: "Streams", icon: CloudUpload, roles: ["operator", "auditor"] },
      { to: "/keys", text: "API keys", icon: KeyRound, roles: ["admin"] },
      { to: "/people", text: "People", icon: Users, roles: ["operator", "auditor"] },
      { to: "/usage", text: "Usage", icon: ChartColumn, roles: ["reviewer", "auditor"] },
      { to: "/audit", text: "Audit", icon: ScrollText, roles: ["operator", "auditor"] },
      { to: "/settings", text: "Settings", icon: Settings, roles: ["reviewer", "auditor", "agent"] },
    ],
  },
] as const satisfies readonly {
  name: string;
  links: readonly { to: string; text: string; icon: LucideIcon; roles: readonly Role[] }[];
}[];

/** The pages that a role may open, in their groups. */
export function allowedGroups(role: Role) {
  return groups
    .map(({ name, links }) => ({ name, links: links.filter(({ roles }) => roleMeets(role, roles)) }))
    .filter(({ links }) => links.length > 0);
}

/**
 * Returns how many of the queue's first 100 escalations wait for the caller, without those assigned to others,
 * snoozed or already voted on. `0+`: none of these, but there are more. A caller who only reads gets the number of all.
 */
function usePending(): string | null {
  const client = useClient();
  const reads = useReads();
  const { caller } = useSession();
  const decides = useMay("reviewer");
  const inHands = useInHands();
  const { data } = useQuery({
    queryKey: ["escalations", "count"],
    // Same query as an unfiltered queue, which thus shares the request.
    queryFn: () =>
      client.listEscalations({
        ...{ status: "pending", order: "expires_at" },
        ...(decides ? { snoozed: "exclude" } : {}),
        limit: 100,
      }),
    refetchInterval: 10_000,
    enabled: reads,
  });
  const waiting = (data?.escalations ?? []).filter(
    (each) => !decides || (inHands(each) && !each.votes.some(({ reviewer }) => reviewer === caller?.person)),
  );
  if (data === undefined || (waiting.length === 0 && data.next_cursor === null)) return null;
  return `${waiting.length}${data.next_cursor === null ? "" : "+"}`;
}

/** How addresses begin that belong to a page of the menu, but are not below its address. */
const beside: Readonly<Record<string, string>> = {
  "/review": "/escalations/",
  "/decisions": "/run",
  "/backtest": "/backtests/",
  "/agents": "/agent",
};

function isWithin(pathname: string, to: string): boolean {
  const other = beside[to];
  return other !== undefined && pathname.startsWith(other);
}

export function Nav({ onGo }: { readonly onGo: () => void }) {
  const { caller } = useSession();
  const pending = usePending();
  const { pathname } = useLocation();
  if (caller === null) return null;
  return (
    <nav aria-label="Main">
      {allowedGroups(caller.role).map(({ name, links }) => {
        return (
          <div key={name}>
            <h2>{name}</h2>
            <ul className="plain">
              {links.map(({ to, text, icon: Icon }) => (
                <li key={to}>
                  <Link
                    to={to}
                    activeOptions={{ exact: to === "/", includeSearch: false }}
                    {...(isWithin(pathname, to) ? { "aria-current": "page" } : {})}
                    onClick={onGo}
                  >
                    <Icon size={16} />
                    <span className="grow">{text}</span>
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
