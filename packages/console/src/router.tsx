/** Pages load on first use. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
} from "@tanstack/react-router";
import { Failed, Loading } from "./parts/states.tsx";
import { parseSearch, stringifySearch } from "./shell/filters.ts";
import { Frame } from "./shell/frame.tsx";

const root = createRootRoute({ component: Outlet });
const frame = createRoute({ getParentRoute: () => root, id: "frame", component: Frame });
const inFrame = () => frame;

const outside = [
  createRoute({
    getParentRoute: () => root,
    path: "/welcome",
    component: lazyRouteComponent(() => import("./pages/welcome.tsx"), "WelcomePage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/login",
    component: lazyRouteComponent(() => import("./pages/sign-in.tsx"), "SignInPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/sso/callback/$org_id",
    component: lazyRouteComponent(() => import("./pages/sign-in.tsx"), "SingleSignOnPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/signup",
    component: lazyRouteComponent(() => import("./pages/account.tsx"), "SignupPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/verify-email",
    component: lazyRouteComponent(() => import("./pages/account.tsx"), "VerifyEmailPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/forgot-password",
    component: lazyRouteComponent(() => import("./pages/account.tsx"), "ForgotPasswordPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/reset-password",
    component: lazyRouteComponent(() => import("./pages/account.tsx"), "ResetPasswordPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/unsubscribe",
    component: lazyRouteComponent(() => import("./pages/account.tsx"), "UnsubscribePage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/v1/unsubscribe",
    component: lazyRouteComponent(() => import("./pages/account.tsx"), "UnsubscribePage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/invitation",
    component: lazyRouteComponent(() => import("./pages/account.tsx"), "InvitationPage"),
  }),
] as const;

const work = [
  createRoute({
    getParentRoute: inFrame,
    path: "/",
    component: lazyRouteComponent(() => import("./pages/overview.tsx"), "OverviewPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/review",
    component: lazyRouteComponent(() => import("./pages/review.tsx"), "ReviewPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/escalations",
    component: () => <Navigate to="/review" replace />,
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/escalations/$escalation_id",
    component: lazyRouteComponent(() => import("./pages/escalation.tsx"), "EscalationPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/decisions",
    component: lazyRouteComponent(() => import("./pages/decisions.tsx"), "DecisionsPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/decisions/$intent_id",
    component: lazyRouteComponent(() => import("./pages/decision.tsx"), "DecisionPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/decisions/$intent_id/print",
    component: lazyRouteComponent(() => import("./pages/decisions/printed-decision.tsx"), "PrintedDecisionPage"),
  }),
] as const;

const rules = [
  createRoute({
    getParentRoute: inFrame,
    path: "/policies",
    component: lazyRouteComponent(() => import("./pages/policies.tsx"), "PoliciesPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/policies/new",
    component: lazyRouteComponent(() => import("./pages/policy.tsx"), "NewPolicyPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/policies/$policy_id",
    component: lazyRouteComponent(() => import("./pages/policy.tsx"), "PolicyPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/packs",
    component: lazyRouteComponent(() => import("./pages/packs.tsx"), "PacksPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/membranes",
    component: lazyRouteComponent(() => import("./pages/membranes.tsx"), "MembranesPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/backtest",
    component: lazyRouteComponent(() => import("./pages/backtest.tsx"), "BacktestPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/backtests/$backtest_id",
    component: lazyRouteComponent(() => import("./pages/backtest/kept-backtest.tsx"), "KeptBacktestPage"),
  }),
] as const;

const organization = [
  createRoute({
    getParentRoute: inFrame,
    path: "/agents",
    component: lazyRouteComponent(() => import("./pages/agents.tsx"), "AgentsPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/agent",
    component: lazyRouteComponent(() => import("./pages/agent.tsx"), "AgentPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/run",
    component: lazyRouteComponent(() => import("./pages/run.tsx"), "RunPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/budgets",
    component: lazyRouteComponent(() => import("./pages/budgets.tsx"), "BudgetsPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/overrides",
    component: lazyRouteComponent(() => import("./pages/overrides.tsx"), "OverridesPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/grants",
    component: lazyRouteComponent(() => import("./pages/grants.tsx"), "GrantsPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/webhooks",
    component: lazyRouteComponent(() => import("./pages/administration/webhooks.tsx"), "WebhooksPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/channels",
    component: lazyRouteComponent(() => import("./pages/administration/channels.tsx"), "ChannelsPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/streams",
    component: lazyRouteComponent(() => import("./pages/administration/streams.tsx"), "StreamsPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/keys",
    component: lazyRouteComponent(() => import("./pages/administration/keys.tsx"), "KeysPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/people",
    component: lazyRouteComponent(() => import("./pages/administration/people.tsx"), "PeoplePage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/usage",
    component: lazyRouteComponent(() => import("./pages/administration/usage.tsx"), "UsagePage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/audit",
    component: lazyRouteComponent(() => import("./pages/administration/audit.tsx"), "AuditPage"),
  }),
  createRoute({
    getParentRoute: inFrame,
    path: "/settings",
    component: lazyRouteComponent(() => import("./pages/administration/settings.tsx"), "SettingsPage"),
  }),
] as const;

const unknown = createRoute({
  getParentRoute: inFrame,
  path: "$",
  component: lazyRouteComponent(() => import("./pages/not-found.tsx"), "NotFoundPage"),
});

const tree = root.addChildren([frame.addChildren([...work, ...rules, ...organization, unknown]), ...outside]);

export const router = createRouter({
  routeTree: tree,
  parseSearch,
  stringifySearch,
  // The router's own wait would leave the screen without an answer for a second.
  defaultPendingMs: 50,
  defaultPendingMinMs: 0,
  defaultPendingComponent: () => <Loading what="the page" />,
  defaultErrorComponent: ({ error, reset }) => <Failed error={error} retry={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
