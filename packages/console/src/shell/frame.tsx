/** The frame around every page of somebody who is signed in. */
import { useMutation } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { adviceOn } from "../api/advice.ts";
import { callerName, useSession } from "../api/session.tsx";
import { keepFocusIn } from "../browser/focus.ts";
import { hasDrafts } from "../browser/storage.ts";
import { applyTheme, type Theme, useTheme } from "../browser/theme.ts";
import { SignInPage } from "../pages/sign-in.tsx";
import { Confirm } from "../parts/forms/dialog.tsx";
import { Failed, Loading } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { ConnectionBanner, Mark } from "./mark.tsx";
import { Nav } from "./nav.tsx";

const nextTheme: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

function ThemeButton() {
  const theme = useTheme();
  return (
    <button type="button" className="button small quiet theme" onClick={() => applyTheme(nextTheme[theme])}>
      {`Theme: ${theme}`}
    </button>
  );
}

export function Frame() {
  const { caller, opening, trouble, hasKey, signOut, lookAgain } = useSession();
  const toasts = useToasts();
  /** Asked whether what is being written may go. */
  const [asked, setAsked] = useState(false);
  const leave = useMutation({
    mutationFn: signOut,
    onSettled: () => setAsked(false),
    onError: (error) => {
      const { title, todo } = adviceOn(error);
      toasts.told("You may still be signed in", `${title}. ${todo}`);
    },
  });
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const before = useRef(pathname);
  useEffect(() => {
    // A page change moves the focus to the new page, as loading one would.
    if (before.current !== pathname) main.current?.focus({ preventScroll: true });
    before.current = pathname;
  }, [pathname]);

  const name = caller === null ? null : callerName(caller);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another caller's pages are another element
  useEffect(() => (main.current === null ? undefined : keepFocusIn(main.current)), [name]);

  if (caller === null) {
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
  const leaving = hasKey ? "Forget key" : "Sign out";
  return (
    // Another caller gets pages of its own: nothing that was being looked at or written goes on.
    <div className="shell" key={name}>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="topbar">
        <button
          type="button"
          className="button small menu-button"
          aria-expanded={open}
          aria-controls="side"
          onClick={() => setOpen(!open)}
        >
          Menu
        </button>
        <Link to="/" className="brand">
          <Mark />
          Countersign
        </Link>
        <span className="org muted small">
          <Data text={caller.org_name} chars_max={60} />
        </span>
        <span className="grow" />
        <span className="badge plain" title={caller.id ?? "open mode"}>
          {caller.role}
        </span>
        <ThemeButton />
        {caller.type !== "open_mode" && (
          <button
            type="button"
            className="button small"
            disabled={leave.isPending}
            onClick={() => (hasDrafts() ? setAsked(true) : leave.mutate())}
          >
            {leaving}
          </button>
        )}
        {asked && (
          <Confirm
            title="What you wrote in this tab is not saved"
            action={`${leaving} and lose it`}
            tone="bad"
            busy={leave.isPending}
            onConfirm={() => leave.mutate()}
            onClose={() => setAsked(false)}
          >
            <p>Nobody who uses this browser after you shall find it, so leaving drops it.</p>
          </Confirm>
        )}
      </header>
      <div id="side" className={open ? "side open" : "side"}>
        <Nav onGo={() => setOpen(false)} />
      </div>
      <main id="main" tabIndex={-1} ref={main}>
        <div className="stack">
          <ConnectionBanner />
          {caller.type === "open_mode" && (
            <div className="banner warn">
              <div>
                <strong>Open mode: everybody on this machine is admin</strong>
                No API key exists yet. <Link to="/welcome">Create your organization</Link> to get the first key; it ends
                open mode for good. Who has an account may <Link to="/login">sign in</Link>.
              </div>
            </div>
          )}
          {caller.environment === "test" && (
            <div className="banner shadow">
              <div>
                <strong>Test key</strong>
                What you submit is decided in test mode and held by nobody.
              </div>
            </div>
          )}
          <Outlet />
        </div>
      </main>
    </div>
  );
}
