import { Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { callerName } from "../api/caller.ts";
import { useSession } from "../api/session.tsx";
import { keepFocusIn } from "../browser/focus.ts";
import { SignInPage } from "../pages/sign-in.tsx";
import { Failed, Loading } from "../parts/states.tsx";
import { CallerBanners } from "./caller-banners.tsx";
import { useLeave } from "./leave.tsx";
import { ConnectionBanner } from "./mark.tsx";
import { Nav } from "./nav.tsx";
import { TopBar } from "./top-bar.tsx";

export function Frame() {
  const { caller } = useSession();
  const leave = useLeave();
  const [open, setOpen] = useState(false);
  const name = caller === null ? null : callerName(caller);
  const main = useMainFocus(name);
  if (caller === null) return <NobodySignedIn />;
  return (
    // Another caller gets new pages, so that nothing of the previous caller stays on the screen.
    <div className="shell" key={name}>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <TopBar caller={caller} leave={leave} open={open} onMenu={() => setOpen(!open)} />
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
  return <SignInPage />;
}
