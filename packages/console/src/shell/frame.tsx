import { Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { callerName } from "../api/caller.ts";
import { useSession } from "../api/session.tsx";
import { keepFocusIn } from "../browser/focus.ts";
import { Failed, Loading } from "../parts/states.tsx";
import { ShortcutHelp, useKeys } from "../review/shortcuts.tsx";
import { CallerBanners } from "./caller-banners.tsx";
import { useLeave } from "./leave.tsx";
import { ConnectionBanner } from "./mark.tsx";
import { Nav } from "./nav.tsx";
import { TopBar } from "./top-bar.tsx";

const RequiredSecondFactor = lazy(async () => ({
  default: (await import("../account/required-second-factor.tsx")).RequiredSecondFactor,
}));
const SignInPage = lazy(async () => ({ default: (await import("../pages/sign-in.tsx")).SignInPage }));
const Palette = lazy(async () => ({ default: (await import("./palette.tsx")).Palette }));

export function Frame() {
  const { caller } = useSession();
  const leave = useLeave();
  const [open, setOpen] = useState(false);
  const name = caller === null ? null : callerName(caller);
  const main = useMainFocus(name);
  const [finding, setFinding] = useState(false);
  usePaletteKey(() => setFinding(true));
  const [helping, setHelping] = useState(false);
  useKeys({ "?": () => setHelping(true) }, caller !== null);
  if (caller === null) return <NobodySignedIn />;
  if (caller.second_factor_missing)
    return (
      <Suspense fallback={<Loading what="your account" />}>
        <RequiredSecondFactor />
      </Suspense>
    );
  return (
    // Another caller gets new pages, so that nothing of the previous caller stays on the screen.
    <div className="shell" key={name}>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <TopBar
        caller={caller}
        leave={leave}
        open={open}
        onMenu={() => setOpen(!open)}
        onFind={() => setFinding(true)}
        onHelp={() => setHelping(true)}
      />
      {finding && (
        <Suspense>
          <Palette onClose={() => setFinding(false)} />
        </Suspense>
      )}
      {helping && <ShortcutHelp onClose={() => setHelping(false)} />}
      <div id="side" className={open ? "side open" : "side"}>
        <Nav onGo={() => setOpen(false)} />
      </div>
      <main id="main" tabIndex={-1} ref={main}>
        <div className="stack">
          <ConnectionBanner />
          <CallerBanners caller={caller} />
          <Outlet />
        </div>
      </main>
    </div>
  );
}

/** Ctrl+K, and Cmd+K on a Mac. A dialog that is open stays alone. */
function usePaletteKey(open: () => void): void {
  const current = useRef(open);
  current.current = open;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      if (document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      current.current();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

/** Moves the focus to a new page, and keeps it inside the page when the focused element disappears. */
function useMainFocus(name: string | null) {
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const before = useRef(pathname);
  useEffect(() => {
    // A page change moves the focus, as loading a page would.
    if (before.current !== pathname) main.current?.focus({ preventScroll: true });
    before.current = pathname;
  }, [pathname]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another caller's pages are another element
  useEffect(() => (main.current === null ? undefined : keepFocusIn(main.current)), [name]);
  return main;
}

function NobodySignedIn() {
  const { opening, trouble, lookAgain } = useSession();
  if (opening) return <Loading what="the console" />;
  if (trouble !== null && trouble !== undefined)
    return (
      <div className="alone">
        <main>
          <Failed error={trouble} retry={() => void lookAgain()} />
        </main>
      </div>
    );
  return (
    <Suspense fallback={<Loading what="the sign-in" />}>
      <SignInPage />
    </Suspense>
  );
}
