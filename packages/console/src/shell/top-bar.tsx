import type { CallerInfo } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { Keyboard, Menu, Monitor, Moon, Search, Sun } from "lucide-react";
import { applyTheme, type Theme, useTheme } from "../browser/theme.ts";
import { Data } from "../parts/tables/data.tsx";
import { type Leave, LeaveButton, LeaveQuestion } from "./leave.tsx";
import { Mark } from "./mark.tsx";

export function TopBar({
  caller,
  leave,
  open,
  onMenu,
  onFind,
  onHelp,
}: {
  readonly caller: CallerInfo;
  readonly leave: Leave;
  readonly open: boolean;
  readonly onMenu: () => void;
  /** Opens the list of places to go to. */
  readonly onFind: () => void;
  /** Opens the list of keys. */
  readonly onHelp: () => void;
}) {
  return (
    <header className="topbar">
      <button
        type="button"
        className="button quiet menu-button"
        aria-label="Menu"
        aria-expanded={open}
        aria-controls="side"
        onClick={onMenu}
      >
        <Menu size={18} />
      </button>
      <Link to="/" className="brand">
        <Mark />
        <span className="brand-name">Countersign</span>
      </Link>
      <span className="org muted small">
        <Data text={caller.org_name} chars_max={60} />
      </span>
      <span className="grow" />
      <button type="button" className="button find-button" onClick={onFind} aria-keyshortcuts="Control+K Meta+K">
        <Search size={16} />
        Go to
        <kbd className="on-wide">Ctrl K</kbd>
      </button>
      <button
        type="button"
        className="button quiet on-wide"
        aria-label="Keyboard"
        title="Keyboard (?)"
        aria-keyshortcuts="?"
        onClick={onHelp}
      >
        <Keyboard size={18} />
      </button>
      <ThemeButton />
      <span className="role muted small" title={caller.id ?? "open mode"}>
        {caller.role}
      </span>
      {caller.type !== "open_mode" && <LeaveButton leave={leave} />}
      {leave.asked && <LeaveQuestion leave={leave} />}
    </header>
  );
}

const nextTheme: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const icons = { system: Monitor, light: Sun, dark: Moon } as const;

function ThemeButton() {
  const theme = useTheme();
  const Icon = icons[theme];
  const name = `Theme: ${theme}`;
  return (
    <button
      type="button"
      className="button quiet theme"
      aria-label={name}
      title={name}
      onClick={() => applyTheme(nextTheme[theme])}
    >
      <Icon size={18} />
    </button>
  );
}
