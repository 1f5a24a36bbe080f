import type { CallerInfo } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { applyTheme, type Theme, useTheme } from "../browser/theme.ts";
import { Data } from "../parts/tables/data.tsx";
import { type Leave, LeaveButton, LeaveQuestion } from "./leave.tsx";
import { Mark } from "./mark.tsx";

export function TopBar({
  caller,
  leave,
  open,
  onMenu,
}: {
  readonly caller: CallerInfo;
  readonly leave: Leave;
  readonly open: boolean;
  readonly onMenu: () => void;
}) {
  return (
    <header className="topbar">
      <button
        type="button"
        className="button small menu-button"
        aria-expanded={open}
        aria-controls="side"
        onClick={onMenu}
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
      {caller.type !== "open_mode" && <LeaveButton leave={leave} />}
      {leave.asked && <LeaveQuestion leave={leave} />}
    </header>
  );
}

const nextTheme: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

function ThemeButton() {
  const theme = useTheme();
  return (
    <button type="button" className="button small quiet theme" onClick={() => applyTheme(nextTheme[theme])}>
      {`Theme: ${theme}`}
    </button>
  );
}
